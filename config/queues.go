package config

import (
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// Engines that a queue may lie in.
const (
	engineBolt   = "bolt"
	engineMemory = "memory"
)

// What carries the guarantee for arrivals in a queue.
const (
	dedupeNumbers = "numbers"
	dedupeIDs     = "ids"
)

// queueEntry is one queue, with the places of what other parts of the file may contradict. What is inherited has its place in
// `defaults`; what is written nowhere has none.
type queueEntry struct {
	name           string
	options        spool.QueueOptions
	dedupe, engine placed[string]
	// ownDedupe says that dedupe stands in the queue itself.
	ownDedupe bool
}

// queues returns each queue in the order of the file: its own options, else those of `defaults`, else the spool's.
func (r *reader) queues(defaults, n node) []queueEntry {
	base := queueEntry{
		options: spool.QueueOptions{
			VisibilityTimeout: spool.DefaultVisibilityTimeout,
			MaxMessageBytes:   message.DefaultMessageBytes,
		},
		dedupe: placed[string]{value: dedupeNumbers},
		engine: placed[string]{value: engineBolt},
	}
	r.queue(defaults, &base)
	base.ownDedupe = false
	var queues []queueEntry
	for _, e := range r.entries(n, "orders: {}") {
		r.check(e.at, message.CheckQueue(e.key))
		q := base
		q.name = e.key
		r.queue(e.value, &q)
		queues = append(queues, q)
	}
	return queues
}

func (r *reader) queue(n node, into *queueEntry) {
	f := r.fields(n, queueKeys)
	r.duration(f["visibility_timeout"], &into.options.VisibilityTimeout, time.Millisecond, noLimit)
	r.maxDeliveries(f["max_deliveries"], &into.options.MaxDeliveries)
	r.retry(f["retry"], &into.options.Retry)
	r.size(f["max_message_bytes"], &into.options.MaxMessageBytes, 1, message.DefaultMessageBytes)
	into.ownDedupe = r.placedWord(f["dedupe"], &into.dedupe, dedupeNumbers, dedupeIDs)
	r.placedWord(f["engine"], &into.engine, engineBolt, engineMemory)
	into.options.ByIDs = into.dedupe.value == dedupeIDs
}

// placedWord stores one of a few words with its place, and reports whether one is written.
func (r *reader) placedWord(n node, into *placed[string], words ...string) bool {
	if n.kind == absent {
		return false
	}
	into.place = n.place
	r.word(n, &into.value, words...)
	return true
}
