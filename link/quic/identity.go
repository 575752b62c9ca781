package quic

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"drawbridge/link"
)

// Identity is the key by which peers know an agent. It does not change after it was made and may be shared.
type Identity struct {
	key         ed25519.PrivateKey
	certificate tls.Certificate
	pin         link.Pin
}

const (
	pemType         = "PRIVATE KEY"
	maxKeyFileBytes = 16 << 10
)

// CreateIdentity makes a new key and stores it at path, readable by its owner alone. It is durable when CreateIdentity
// returns. A file that is already there is never overwritten; the error then wraps fs.ErrExist.
func CreateIdentity(path string) (*Identity, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return nil, fmt.Errorf("create identity key %s: %w", path, err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create identity key %s: %w", path, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("create identity key %s: %w", path, err)
	}
	if err := writeDurably(path, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})); err != nil {
		return nil, fmt.Errorf("create identity key %s: %w", path, err)
	}
	return newIdentity(key)
}

// writeDurably lets path appear whole or not at all, also when the power fails midway.
func writeDurably(path string, content []byte) error {
	half := path + ".new"
	// What an interrupted attempt left may have any mode, so it is not written over.
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// LoadIdentity reads what CreateIdentity wrote. It refuses a file that others than its owner can read: such a key may have
// been copied, and whoever has it is this agent.
func LoadIdentity(path string) (*Identity, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("identity key %s is missing, make one with `drawbridge init`: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read identity key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read identity key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("identity key %s is open to its group or to others (mode %04o): run `chmod 600 %s`", path, mode, path)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		return nil, fmt.Errorf("read identity key: %w", err)
	}
	key, err := parseKey(content)
	if err != nil {
		return nil, fmt.Errorf("identity key %s: %w", path, err)
	}
	return newIdentity(key)
}

func parseKey(content []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(content)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("holds no PEM block %q", pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("holds a %T, want an Ed25519 key", parsed)
	}
	return key, nil
}

// newIdentity signs a certificate for key. The certificate is made anew at each start, as only its key means something; its
// dates leave room for a clock that is years off, for peers that look at dates.
func newIdentity(key ed25519.PrivateKey) (*Identity, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "drawbridge"},
		NotBefore:    now.AddDate(-20, 0, 0),
		NotAfter:     now.AddDate(100, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign own certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read own certificate: %w", err)
	}
	return &Identity{
		key:         key,
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		pin:         pinOf(leaf),
	}, nil
}

// Pin is what peers write into their configuration.
func (id *Identity) Pin() link.Pin { return id.pin }

// resetKey is the same at every start. So an agent that was killed can prove, for connections it no longer knows, that they
// are gone, and its peers need not wait for their idle timeout.
func (id *Identity) resetKey() (*quicgo.StatelessResetKey, error) {
	b, err := hkdf.Key(sha256.New, id.key.Seed(), nil, "drawbridge/1 stateless reset", len(quicgo.StatelessResetKey{}))
	if err != nil {
		return nil, fmt.Errorf("derive stateless reset key: %w", err)
	}
	key := quicgo.StatelessResetKey(b)
	return &key, nil
}

func pinOf(c *x509.Certificate) link.Pin { return link.PinOf(c.RawSubjectPublicKeyInfo) }
