package message

import (
	"errors"
	"fmt"
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

// bytesOf is a set of bytes. Names are checked by table, because every record that is parsed has several.
type bytesOf [256]bool

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

var (
	idBytes     = newBytesOf(lower + upper + digit + "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
	queueFirst  = newBytesOf(lower + digit)
	queueBytes  = newBytesOf(lower + digit + "._-")
	agentFirst  = newBytesOf(lower + upper + digit)
	agentBytes  = newBytesOf(lower + upper + digit + "._-")
	wordBytes   = newBytesOf(lower + "-")
	headerBytes = newBytesOf(lower + digit + "!#$%&'*+.^_`|~-")
)

func newBytesOf(s string) *bytesOf {
	var set bytesOf
	for i := range len(s) {
		set[s[i]] = true
	}
	return &set
}

// spell reports whether s is 1 to most bytes of rest, the first one of first.
func spell(s string, most int, first, rest *bytesOf) bool {
	if s == "" || len(s) > most || !first[s[0]] {
		return false
	}
	for i := range len(s) {
		if !rest[s[i]] {
			return false
		}
	}
	return true
}

// DeadSuffix ends the name of a queue's dead letters and is reserved for them.
const DeadSuffix = ".dead"

// DeadQueue is the name of the queue that holds the dead letters of queue.
func DeadQueue(queue string) string { return queue + DeadSuffix }

// NewID mints a UUIDv7: time-ordered, so that ids of one moment lie beside each other in a ledger.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// CheckID refuses what cannot be a message id.
func CheckID(id string) error {
	if !spell(id, MaxIDBytes, idBytes, idBytes) {
		return fmt.Errorf("message id %q: %w, use 1 to %d of the printable ASCII characters without space", clip(id), ErrName, MaxIDBytes)
	}
	return nil
}

// CheckQueue refuses what cannot be the name of a queue that somebody configures.
func CheckQueue(name string) error {
	if !spell(name, MaxQueueNameBytes, queueFirst, queueBytes) {
		return fmt.Errorf("queue name %q: %w, use 1 to %d of a-z 0-9 . _ - and begin with a letter or digit", clip(name), ErrName, MaxQueueNameBytes)
	}
	if strings.HasSuffix(name, DeadSuffix) {
		return fmt.Errorf("queue name %q: %w, the suffix %s is reserved for dead letters", name, ErrName, DeadSuffix)
	}
	return nil
}

// CheckAgent refuses what cannot be the name of an agent.
func CheckAgent(name string) error {
	if !spell(name, MaxAgentNameBytes, agentFirst, agentBytes) {
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
