package localapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"drawbridge/api"
)

// maxTokenBytes is more than any token needs, and less than what a path that leads to a device would give.
const maxTokenBytes = 4 << 10

// Token is a secret that requests must bring. It is kept as its hash alone, so that no dump of the agent holds it.
type Token struct{ sum [sha256.Size]byte }

// LoadToken reads a token from the file at path; white space around it is no part of it. A file that holds none is an error:
// an empty token would let everybody in.
func LoadToken(path string) (*Token, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxTokenBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read token %s: %w", path, err)
	}
	text := strings.TrimSpace(string(content))
	switch {
	case len(content) > maxTokenBytes:
		return nil, fmt.Errorf("token %s: more than %d bytes", path, maxTokenBytes)
	case text == "":
		return nil, fmt.Errorf("token %s: the file is empty", path)
	case strings.ContainsFunc(text, notInToken):
		return nil, fmt.Errorf("token %s: holds a space or a character that a header cannot carry", path)
	}
	return &Token{sha256.Sum256([]byte(text))}, nil
}

func notInToken(r rune) bool { return r <= ' ' || r > '~' }

// check lets requests with the token pass. How long it takes tells nothing of the token: hashes are compared, whole.
func (t *Token) check(w http.ResponseWriter, r *http.Request) error {
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	same := subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
	if ok && strings.EqualFold(scheme, "Bearer") && same {
		return nil
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return refuse(api.CodeBadToken, "this listener asks for a token")
}
