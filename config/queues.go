package config

import (
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

// queues returns the options of each queue: its own, else those of `defaults`, else the spool's.
func (r *reader) queues(defaults, n node) map[string]spool.QueueOptions {
	base := spool.QueueOptions{
		VisibilityTimeout: spool.DefaultVisibilityTimeout,
		MaxMessageBytes:   message.DefaultMessageBytes,
	}
	r.queue(defaults, &base)
	queues := make(map[string]spool.QueueOptions)
	for _, e := range r.entries(n, "orders: {}") {
		r.check(e.at, message.CheckQueue(e.key))
		options := base
		r.queue(e.value, &options)
		queues[e.key] = options
	}
	return queues
}

func (r *reader) queue(n node, into *spool.QueueOptions) {
	f := r.fields(n, queueKeys)
	r.duration(f["visibility_timeout"], &into.VisibilityTimeout, time.Millisecond, noLimit)
	r.size(f["max_message_bytes"], &into.MaxMessageBytes, 1, message.DefaultMessageBytes)
	by := map[bool]string{false: "numbers", true: "ids"}[into.ByIDs]
	r.word(f["dedupe"], &by, "numbers", "ids")
	into.ByIDs = by == "ids"
}
