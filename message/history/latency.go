package history

import (
	"slices"
	"time"
)

// Latencies returns how long each delivered message took from the beginning of its put to its first handing out, sorted.
func Latencies(h History) []time.Duration {
	began := make(map[string]time.Time, len(h.Puts))
	for i := range h.Puts {
		if _, again := began[h.Puts[i].ID]; !again {
			began[h.Puts[i].ID] = h.Puts[i].BeganAt
		}
	}
	took := make([]time.Duration, 0, len(h.Puts))
	for i := range h.Seen {
		if at, first := began[h.Seen[i].ID]; first && !h.Seen[i].Acked {
			took = append(took, h.Seen[i].At.Sub(at))
			delete(began, h.Seen[i].ID)
		}
	}
	slices.Sort(took)
	return took
}
