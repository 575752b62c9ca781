package api

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText refuses a header value or key that could not reach its consumer unchanged both as an HTTP header and in JSON.
func CheckText(value string) error {
	switch {
	case !utf8.ValidString(value):
		return errors.New("not UTF-8")
	case strings.ContainsFunc(value, unicode.IsControl):
		return errors.New("holds a control character, such as a line break")
	case strings.Trim(value, " ") != value:
		return errors.New("begins or ends with a space, which HTTP does not carry")
	}
	return nil
}
