package message

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// Limits that hold everywhere, whatever the configuration says.
const (
	MaxIDBytes          = 128
	MaxQueueNameBytes   = 120
	MaxAgentNameBytes   = 64
	MaxKeyBytes         = 256
	MaxHeaders          = 64
	MaxHeaderNameBytes  = 128
	MaxHeadersBytes     = 16 << 10
	MaxPriority         = 9
	MaxHops             = 16
	DefaultMessageBytes = 1 << 20
)

// ErrName is wrapped by every refusal of an id, a queue, an agent or a header. The text says what is allowed.
var ErrName = errors.New("not allowed")

var (
	idPattern     = regexp.MustCompile(`^[!-~]{1,128}$`)
	queuePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,119}$`)
	agentPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	headerPattern = regexp.MustCompile("^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$")
)

// DeadSuffix ends the name of a queue's dead letters and is reserved for them.
const DeadSuffix = ".dead"

// NewID mints a UUIDv7: time-ordered, so that ids of one moment lie beside each other in a ledger.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// CheckID refuses what cannot be a message id.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("message id %q: %w, use 1 to %d of the printable ASCII characters without space", clip(id), ErrName, MaxIDBytes)
	}
	return nil
}

// CheckQueue refuses what cannot be the name of a queue that somebody configures.
func CheckQueue(name string) error {
	if !queuePattern.MatchString(name) {
		return fmt.Errorf("queue name %q: %w, use 1 to %d of a-z 0-9 . _ - and begin with a letter or digit", clip(name), ErrName, MaxQueueNameBytes)
	}
	if strings.HasSuffix(name, DeadSuffix) {
		return fmt.Errorf("queue name %q: %w, the suffix %s is reserved for dead letters", name, ErrName, DeadSuffix)
	}
	return nil
}

// CheckAgent refuses what cannot be the name of an agent.
func CheckAgent(name string) error {
	if !agentPattern.MatchString(name) {
		return fmt.Errorf("agent name %q: %w, use 1 to %d letters, digits and . _ - and begin with a letter or digit", clip(name), ErrName, MaxAgentNameBytes)
	}
	return nil
}

// clip keeps a hostile name from filling a log line.
func clip(s string) string {
	if len(s) > 150 {
		return s[:150] + "…"
	}
	return s
}
