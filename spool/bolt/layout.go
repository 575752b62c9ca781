package bolt

import (
	"encoding/binary"
	"fmt"
	"time"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// formatVersion is the version of the whole layout, in the stamp and in the bucket meta.
const formatVersion = 2

const (
	// notePrefix stands before the keys of SetMeta.
	notePrefix  = "note/"
	lanes       = message.MaxPriority + 1
	secretBytes = 32
	maxEpochs   = 64
	lockTimeout = time.Second
)

// Top buckets, and the keys of meta.
var (
	bucketMeta      = []byte("meta")
	bucketQueues    = []byte("queues")
	bucketFrontiers = []byte("frontiers")
	bucketClosed    = []byte("closed")
	bucketLedger    = []byte("ledger")
	bucketPromised  = []byte("promised")
	topBuckets      = [][]byte{bucketMeta, bucketQueues, bucketFrontiers, bucketClosed, bucketLedger, bucketPromised}

	keyFormat = []byte("format")
	keySpool  = []byte("spool")
	keySecret = []byte("secret")
	keyEpochs = []byte("epochs")
	keyTime   = []byte("time")
	keyJump   = []byte("jump")
	keyGone   = []byte("gone")
	// keyPromisedGone is to the promised rows what keyGone is to the others.
	keyPromisedGone = []byte("gone-promised")
)

// Buckets and the one key of a queue, and the one key of a group.
var (
	bucketStreams = []byte("streams")
	bucketGroups  = []byte("groups")
	bucketState   = []byte("state")
	bucketMarks   = []byte("marks")
	queueBuckets  = [][]byte{bucketStreams, bucketGroups, bucketState, bucketMarks}

	keyCounters = []byte("counters")
	keyBlob     = []byte("b")
)

// groupKey is a group's key in groups and state: keys of one lane sort by first sequence.
func groupKey(lane uint8, first uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{lane}, first)
}

func parseGroupKey(k []byte) (lane uint8, first uint64, err error) {
	if len(k) != 9 || k[0] > message.MaxPriority {
		return 0, 0, fmt.Errorf("group key %x: %w", k, pack.ErrMalformed)
	}
	return k[0], binary.BigEndian.Uint64(k[1:]), nil
}

// streamKey is the key of a lane's stream in one epoch; keys of one lane sort by epoch.
func streamKey(lane uint8, epoch uint64) []byte { return groupKey(lane, epoch) }

// counters is a queue's row: what a scan of its groups would find, and the next sequence.
type counters struct {
	next  uint64
	bytes uint64
	live  [lanes]uint64
}

func (c *counters) append(b []byte) []byte {
	b = pack.AppendUvarint(b, c.next)
	b = pack.AppendUvarint(b, c.bytes)
	for _, n := range c.live {
		b = pack.AppendUvarint(b, n)
	}
	return b
}

func parseCounters(b []byte) (c counters, err error) {
	r := pack.NewReader(b)
	c.next = r.Uvarint()
	c.bytes = r.Uvarint()
	for i := range c.live {
		c.live[i] = r.Uvarint()
	}
	return c, r.Finish()
}

func (c *counters) messages() (n uint64) {
	for _, live := range c.live {
		n += live
	}
	return n
}

func appendEpochs(b []byte, chain []message.Epoch) []byte {
	for _, e := range chain {
		b = pack.AppendUint64(b, e.Counter)
		b = pack.AppendUint64(b, e.Tag)
	}
	return b
}

func parseEpochs(b []byte) (chain []message.Epoch, err error) {
	r := pack.NewReader(b)
	for len(r.Rest()) > 0 {
		chain = append(chain, message.Epoch{Counter: r.Uint64(), Tag: r.Uint64()})
	}
	return chain, r.Finish()
}

// frontierKey names a frontier: the queue is this side's.
type frontierKey struct {
	stream message.StreamID
	queue  string
}

func (k frontierKey) bytes() []byte {
	return append(k.stream[:len(k.stream):len(k.stream)], k.queue...)
}

func parseFrontierKey(b []byte) (k frontierKey, err error) {
	if len(b) <= len(k.stream) {
		return k, fmt.Errorf("frontier key %x: %w", b, pack.ErrTruncated)
	}
	return frontierKey{stream: message.StreamID(b[:len(k.stream)]), queue: string(b[len(k.stream):])}, nil
}

// appendFrontier appends the highest admitted number and the spool time of the commit that made it so.
func appendFrontier(b []byte, number uint64, used int64) []byte {
	b = pack.AppendUint64(b, number)
	return pack.AppendUint64(b, uint64(used))
}

func parseFrontier(b []byte) (number uint64, used int64, err error) {
	r := pack.NewReader(b)
	number, used = r.Uint64(), int64(r.Uint64())
	return number, used, r.Finish()
}
