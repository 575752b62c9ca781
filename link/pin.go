package link

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
)

// Pin is the identity of an agent: the SHA-256 of its public key in SubjectPublicKeyInfo form. Certificates come and go,
// the key stays.
type Pin [sha256.Size]byte

// ErrIdentity is wrapped when a peer proves another key than the one it is configured with, and when the peer has no entry
// for ours. Retrying does not help until an operator compares `drawbridge identity show` with the peer_id in the files.
var ErrIdentity = errors.New("wrong identity")

// PinOf returns the pin of a DER-encoded SubjectPublicKeyInfo.
func PinOf(spki []byte) Pin { return sha256.Sum256(spki) }

var pinEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// String writes the pin as 13 groups of four base32 characters, the form used in configuration files.
func (p Pin) String() string {
	s := pinEncoding.EncodeToString(p[:])
	var groups []string
	for len(s) > 4 {
		groups = append(groups, s[:4])
		s = s[4:]
	}
	return strings.Join(append(groups, s), "-")
}

// ParsePin reads what String wrote; dashes, spaces and lower case do not matter.
func ParsePin(s string) (p Pin, err error) {
	clean := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(s))
	b, err := pinEncoding.DecodeString(clean)
	if err != nil || len(b) != len(p) {
		return p, fmt.Errorf("identity %q: want 52 characters of A-Z and 2-7, as printed by `drawbridge identity show`", s)
	}
	// The last character carries bits that no pin uses: one identity has one spelling.
	if pinEncoding.EncodeToString(b) != clean {
		return p, fmt.Errorf("identity %q: its last character is mistyped", s)
	}
	return Pin(b), nil
}
