package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"drawbridge/spool"
)

// queueFamilies tell of each queue.
type queueFamilies struct {
	messages, bytes, oldest, leased, inDoubt             family
	stored, duplicates, acked, settled, accepted, buried family
}

func newQueueFamilies() queueFamilies {
	return queueFamilies{
		messages:   gauge("queue_messages", "Live messages, leased included.", "queue"),
		bytes:      gauge("queue_bytes", "Bytes of the records of live messages.", "queue"),
		oldest:     gauge("queue_oldest_age_seconds", "How long the oldest live message has been here; 0 without one.", "queue"),
		leased:     gauge("queue_leased_messages", "Messages that local consumers hold.", "queue"),
		inDoubt:    gauge("queue_in_doubt_messages", "Messages that a route has shipped, or may have shipped, without an answer yet.", "queue"),
		stored:     counter("queue_stored_total", "Messages that local producers have stored.", "queue"),
		duplicates: counter("queue_duplicates_total", "Puts of local producers that were there already.", "queue"),
		acked:      counter("queue_acked_total", "Messages that local consumers have acked.", "queue"),
		settled:    counter("queue_settled_total", "Messages that ended because the far side has them.", "queue"),
		accepted:   counter("queue_accepted_total", "Messages that peers have brought and that were admitted.", "queue"),
		buried:     counter("queue_buried_total", "Messages that became dead letters of this queue.", "queue"),
	}
}

func (f queueFamilies) collect(queues []spool.QueueStats, out chan<- prometheus.Metric) {
	for _, q := range queues {
		out <- f.messages.sample(float64(q.Messages), q.Name)
		out <- f.bytes.sample(float64(q.Bytes), q.Name)
		out <- f.oldest.sample(q.OldestAge.Seconds(), q.Name)
		out <- f.leased.sample(float64(q.Leased), q.Name)
		out <- f.inDoubt.sample(float64(q.InDoubt), q.Name)
		out <- f.stored.sample(float64(q.Stored), q.Name)
		out <- f.duplicates.sample(float64(q.Duplicates), q.Name)
		out <- f.acked.sample(float64(q.Acked), q.Name)
		out <- f.settled.sample(float64(q.Settled), q.Name)
		out <- f.accepted.sample(float64(q.Accepted), q.Name)
		out <- f.buried.sample(float64(q.Buried), q.Name)
	}
}
