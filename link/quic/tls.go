package quic

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"drawbridge/link"
)

// alpn names the protocol and its major version in the handshake. quic-go and crypto/tls end a handshake without agreement.
const alpn = "drawbridge/1"

var errNoKey = errors.New("peer proves no key")

// tlsConfig is the configuration of one side whose peer has to satisfy check.
//
// InsecureSkipVerify switches off only the look at names, dates and issuers, none of which mean anything in a self-signed
// certificate. The check that remains is complete: TLS itself makes the peer sign the handshake with the private key of the
// certificate it shows, a client is not let through without one, and VerifyConnection, which runs on both sides and in every
// kind of handshake, ends it unless check knows that key.
func (id *Identity) tlsConfig(check func(link.Pin) error) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{id.certificate},
		NextProtos:             []string{alpn},
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true, // a resumed session would save no round trip without 0-RTT
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 {
				return errNoKey
			}
			return check(pinOf(cs.PeerCertificates[0]))
		},
	}
}

// dialTLS accepts a peer that proves one of pins.
func (id *Identity) dialTLS(pins []link.Pin) *tls.Config {
	return id.tlsConfig(func(proved link.Pin) error {
		if slices.Contains(pins, proved) {
			return nil
		}
		return &identityError{proved: proved, expected: pins}
	})
}

// listenTLS accepts whom o allows, and reports the others.
func (id *Identity) listenTLS(o Options) *tls.Config {
	config := id.tlsConfig(nil)
	// The address of the peer is known only here, so each handshake gets a check of its own.
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		addr := hello.Conn.RemoteAddr().String()
		return id.tlsConfig(func(proved link.Pin) error {
			if o.Allow != nil && o.Allow(proved) {
				letIn(hello)
				return nil
			}
			if o.Refused != nil {
				o.Refused(proved, addr)
			}
			return fmt.Errorf("no peer is configured with identity %s: %w", proved, link.ErrIdentity)
		}), nil
	}
	return config
}

// identityError says whom we reached and whom we wanted.
type identityError struct {
	proved   link.Pin
	expected []link.Pin
}

func (e *identityError) Error() string {
	var pins []string
	for _, p := range e.expected {
		pins = append(pins, p.String())
	}
	return fmt.Sprintf("%v: peer proves %s, config expects %s", link.ErrIdentity, e.proved, strings.Join(pins, " or "))
}

func (e *identityError) Unwrap() error { return link.ErrIdentity }
