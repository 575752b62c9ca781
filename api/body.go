package api

import (
	"errors"
	"unicode/utf8"
)

// Body is a message body inside JSON: as text when it is UTF-8, else as base64. It is embedded where a body belongs. Both
// fields absent is an empty body.
type Body struct {
	Text   *string `json:"body,omitempty"`
	Base64 []byte  `json:"body_base64,omitempty"`
}

// NewBody chooses the form for b. It copies text and shares memory otherwise.
func NewBody(b []byte) Body {
	if !utf8.Valid(b) {
		return Body{Base64: b}
	}
	text := string(b)
	return Body{Text: &text}
}

// ErrTwoBodies is returned by Body.Bytes when body and body_base64 are both there: one of them would be lost.
var ErrTwoBodies = errors.New("body and body_base64 exclude each other")

// Bytes returns the body whichever form it has.
func (b Body) Bytes() ([]byte, error) {
	switch {
	case b.Text != nil && b.Base64 != nil:
		return nil, ErrTwoBodies
	case b.Text != nil:
		return []byte(*b.Text), nil
	}
	return b.Base64, nil
}
