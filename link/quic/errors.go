package quic

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

// CloseError is why a connection ended that one of its sides closed on purpose.
type CloseError struct {
	// Code and Text are what the closing side gave to Close.
	Code uint64
	Text string
	// ByPeer is false for a connection that was closed here.
	ByPeer bool
}

func (e *CloseError) Error() string {
	who := "closed here"
	if e.ByPeer {
		who = "closed by peer"
	}
	if e.Text == "" {
		return fmt.Sprintf("%s: code %d", who, e.Code)
	}
	return fmt.Sprintf("%s: %s (code %d)", who, e.Text, e.Code)
}

// printable makes a peer's words fit for a terminal and one line of a log: what is no text becomes a space.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}

// CloseCode lets package link, which this package imports, ask for the code.
func (e *CloseError) CloseCode() (code uint64, byPeer bool) { return e.Code, e.ByPeer }

// endError says in words of ours why there is no connection; its cause is the library's error.
type endError struct {
	text  string
	cause error
}

func (e *endError) Error() string { return e.text }
func (e *endError) Unwrap() error { return e.cause }

// TLS alerts (RFC 8446, section 6) as quic-go reports them.
const (
	cryptoError           = quicgo.TransportErrorCode(0x100)
	badCertificate        = cryptoError + 42
	noApplicationProtocol = cryptoError + 120
)

// explainDial is explain for a handshake that came to nothing.
func explainDial(err error, own link.Pin) error {
	_, silent := errors.AsType[*quicgo.IdleTimeoutError](err)
	_, slow := errors.AsType[*quicgo.HandshakeTimeoutError](err)
	switch {
	case silent:
		return &endError{"no answer", err}
	case slow:
		return &endError{"handshake took too long", err}
	}
	return explain(err, own)
}

// explain puts the library's error into words an operator can act on. own is our pin: the peer's operator will want it.
// Errors that have nothing to do with the connection as a whole, such as io.EOF, come back as they are.
func explain(err error, own link.Pin) error {
	if identity, ok := errors.AsType[*identityError](err); ok {
		return identity
	}
	if closed, ok := errors.AsType[*quicgo.ApplicationError](err); ok {
		return &CloseError{Code: uint64(closed.ErrorCode), Text: printable(closed.ErrorMessage), ByPeer: closed.Remote}
	}
	if _, ok := errors.AsType[*quicgo.StatelessResetError](err); ok {
		return &endError{"peer has restarted and no longer knows this connection", err}
	}
	if _, ok := errors.AsType[*quicgo.IdleTimeoutError](err); ok {
		return &endError{fmt.Sprintf("nothing heard from peer for %v", idleTimeout), err}
	}
	if t, ok := errors.AsType[*quicgo.TransportError](err); ok && t.Remote {
		switch t.ErrorCode {
		case badCertificate:
			return &endError{
				fmt.Sprintf("%v: peer has no entry for ours, %s", link.ErrIdentity, own),
				errors.Join(link.ErrIdentity, err),
			}
		case noApplicationProtocol:
			return &endError{"peer does not speak " + alpn, err}
		case quicgo.ConnectionRefused:
			return &endError{"peer takes no connections now", err}
		}
	}
	return err
}
