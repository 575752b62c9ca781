package dedupe

import (
	"crypto/sha256"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// Key names a message in a queue: 128 bits of a keyed hash of queue, origin, id and generation. Equal keys are taken for
// equal messages.
type Key [16]byte

// keyInputBytes holds the secret and the longest permitted names with their lengths, so that hashing stays on the stack.
const keyInputBytes = 32 + 3*2 + message.MaxQueueNameBytes + len(message.DeadSuffix) + message.MaxAgentNameBytes +
	message.MaxIDBytes + 4

// Hasher makes keys. It is safe for concurrent use.
type Hasher struct {
	secret [32]byte
}

// NewHasher returns a Hasher for the secret of one spool. The secret keeps whoever chooses ids from choosing two that
// collide, or many that crowd one part of the index. It stays the same as long as rows made with it are kept.
func NewHasher(secret [32]byte) *Hasher { return &Hasher{secret: secret} }

// Key returns the key of m in queue. It allocates nothing for names within their limits.
func (h *Hasher) Key(queue string, m message.EndToEnd) Key {
	var input [keyInputBytes]byte
	b := append(input[:0], h.secret[:]...)
	b = pack.AppendString(b, queue)
	b = pack.AppendString(b, m.Origin)
	b = pack.AppendString(b, m.ID)
	b = pack.AppendUint32(b, m.Generation)
	sum := sha256.Sum256(b)
	return Key(sum[:len(Key{})])
}
