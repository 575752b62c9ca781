package quic_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

func TestDiallerRefusesAnotherKey(t *testing.T) {
	a, b := pair(t)
	expected, old := newIdentity(t).Pin(), newIdentity(t).Pin()
	_, err := a.Dial(t.Context(), b.addr(), []link.Pin{expected, old})
	if !errors.Is(err, link.ErrIdentity) {
		t.Fatalf("dial: %v, want link.ErrIdentity", err)
	}
	for _, part := range []string{b.addr(), b.id.Pin().String(), expected.String(), old.String()} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	if _, err := a.Dial(t.Context(), b.addr(), nil); !errors.Is(err, link.ErrIdentity) {
		t.Errorf("dial without pins: %v, want link.ErrIdentity", err)
	}
	requireNothingAccepted(t, a, b)
}

func TestDiallerAcceptsEitherOfTwoKeys(t *testing.T) {
	a, b := pair(t)
	if _, err := a.Dial(t.Context(), b.addr(), []link.Pin{newIdentity(t).Pin(), b.id.Pin()}); err != nil {
		t.Fatal(err)
	}
}

// requireNothingAccepted dials once more, properly: that has to be the first connection b hands out.
func requireNothingAccepted(t *testing.T, a, b host) {
	t.Helper()
	dialled, accepted := connect(t, a, b)
	say(t, dialled, accepted, "is it you?")
}

type refusal struct {
	pin  link.Pin
	addr string
}

func TestListenerRefusesUnknownKeysAndReportsThem(t *testing.T) {
	known, stranger := newIdentity(t), newIdentity(t)
	refusals := make(chan refusal, 10)
	o := only(known.Pin())
	o.Refused = func(pin link.Pin, addr string) { refusals <- refusal{pin, addr} }
	b := listen(t, "127.0.0.1:0", newIdentity(t), o)

	from := listen(t, "127.0.0.1:0", stranger, only())
	c, err := from.Dial(t.Context(), b.addr(), []link.Pin{b.id.Pin()})
	if err == nil { // our side of the handshake is complete before the peer looks at our key
		err = waitDone(t, c)
	}
	if !errors.Is(err, link.ErrIdentity) || !strings.Contains(err.Error(), stranger.Pin().String()) {
		t.Errorf("the stranger saw %v, want link.ErrIdentity with its own pin", err)
	}
	if got := <-refusals; got != (refusal{stranger.Pin(), from.addr()}) {
		t.Errorf("reported %+v, want %s from %s", got, stranger.Pin(), from.addr())
	}
	requireNothingAccepted(t, listen(t, "127.0.0.1:0", known, only()), b)
	if len(refusals) != 0 {
		t.Errorf("reported once more: %+v", <-refusals)
	}
}

// A hostile peer speaks QUIC as it likes; none of this may make Accept return.
func TestForeignHandshakesFail(t *testing.T) {
	a, b := pair(t)
	known := certificateOf(t, a)
	_, ownKey, _ := ed25519.GenerateKey(rand.Reader)
	for name, c := range map[string]struct {
		config *tls.Config
		alert  quicgo.TransportErrorCode
	}{
		"no certificate":        {&tls.Config{NextProtos: []string{"drawbridge/1"}}, 0x174},
		"another protocol":      {&tls.Config{NextProtos: []string{"h3"}, Certificates: []tls.Certificate{selfSigned(t)}}, 0x178},
		"no protocol":           {&tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}, 0x178},
		"a key of another kind": {&tls.Config{NextProtos: []string{"drawbridge/1"}, Certificates: []tls.Certificate{selfSigned(t)}}, 0x12a},
		"a known certificate without its key": {&tls.Config{NextProtos: []string{"drawbridge/1"}, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &tls.Certificate{Certificate: [][]byte{known}, PrivateKey: ownKey}, nil
		}}, 0x133},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.InsecureSkipVerify = true
			err := foreignDial(t, b.addr(), c.config)
			var alert *quicgo.TransportError
			if !errors.As(err, &alert) || !alert.Remote || alert.ErrorCode != c.alert {
				t.Errorf("refused with %v, want alert %#x", err, uint64(c.alert))
			}
		})
	}
	t.Run("TLS 1.2", func(t *testing.T) {
		err := foreignDial(t, b.addr(), &tls.Config{
			NextProtos: []string{"drawbridge/1"}, InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12,
		})
		if err == nil {
			t.Error("QUIC without TLS 1.3")
		}
	})
	requireNothingAccepted(t, a, b)
}

func TestForeignListenersAreRefused(t *testing.T) {
	a := listen(t, "127.0.0.1:0", newIdentity(t), only())
	impostor := selfSigned(t)
	for name, protocols := range map[string][]string{"another key": {"drawbridge/1"}, "another protocol": {"h3"}} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			l, err := quicgo.Listen(socket, &tls.Config{Certificates: []tls.Certificate{impostor}, NextProtos: protocols}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			defer l.Close()
			_, err = a.Dial(t.Context(), l.Addr().String(), []link.Pin{newIdentity(t).Pin()})
			switch name {
			case "another key":
				if !errors.Is(err, link.ErrIdentity) {
					t.Errorf("dial: %v, want link.ErrIdentity", err)
				}
			default:
				if err == nil || !strings.Contains(err.Error(), "does not speak drawbridge/1") {
					t.Errorf("dial: %v", err)
				}
			}
		})
	}
}

// foreignDial returns why the connection ended, which for a client may be after its handshake.
func foreignDial(t *testing.T, addr string, config *tls.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := quicgo.DialAddr(ctx, addr, config, nil)
	if err != nil {
		return err
	}
	<-c.Context().Done()
	return context.Cause(c.Context())
}

// certificateOf asks h for its certificate, as anybody can.
func certificateOf(t *testing.T, h host) []byte {
	t.Helper()
	var der []byte
	config := &tls.Config{NextProtos: []string{"drawbridge/1"}, InsecureSkipVerify: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			der = cs.PeerCertificates[0].Raw
			return nil
		}}
	foreignDial(t, h.addr(), config)
	return der
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
