package demo

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
)

// Sum identifies a body.
type Sum [sha256.Size]byte

// SumOf returns the sum of body.
func SumOf(body []byte) Sum { return sha256.Sum256(body) }

// Put is one message as its producer knows it.
type Put struct {
	ID string
	// Producer and Turn place it: a producer puts its messages one after the other, in turns 0, 1, 2 …
	Producer, Turn int
	Sum            Sum
	// BeganAt is when the first try was begun.
	BeganAt time.Time
	// Stored says that the producer has heard `stored`, or `duplicate` after a try that got no answer.
	Stored bool
}

// Sight is one thing a consumer saw: a message handed out, or the answer to its ack.
type Sight struct {
	ID       string
	Sequence uint64
	// Acked says that this is the answer to an ack, and no handing out; Attempt, Sum and At are zero then.
	Acked bool
	// Attempt is which delivery of the message this is, as the agent counted: the first is 1.
	Attempt uint32
	Sum     Sum
	At      time.Time
}

// History is all that a judge may use: what the producers heard, in any order, and what the consumers saw, in the order in
// which they saw it.
type History struct {
	Puts []Put
	Seen []Sight
}

// Findings are what the judge found in a history. Stored is Delivered plus Lost; the other faults count messages.
type Findings struct {
	// Stored counts messages whose producer heard so, Delivered those of them that were handed out.
	Stored    int `json:"stored"`
	Delivered int `json:"delivered"`
	// Lost: stored and never handed out.
	Lost int `json:"lost"`
	// Doubled: seen under two sequences, handed out again after its ack was answered, or handed out twice as the same delivery.
	Doubled int `json:"doubled"`
	// OutOfOrder: has a lower sequence than a message that its producer stored earlier.
	OutOfOrder int `json:"out_of_order"`
	// Corrupt: handed out with other bytes than were put.
	Corrupt int `json:"corrupt"`
	// Invented: handed out, but put by nobody.
	Invented int `json:"invented,omitempty"`
	// Redelivered counts deliveries after the first of a message in its own place, before its ack was answered. No fault.
	Redelivered int `json:"redelivered"`
	// Faults describes the first faults of each kind.
	Faults []string `json:"faults,omitempty"`
}

// Clean says that no fault was found.
func (f *Findings) Clean() bool {
	return f.Lost == 0 && f.Doubled == 0 && f.OutOfOrder == 0 && f.Corrupt == 0 && f.Invented == 0
}

// describedFaults is how many faults of a kind are described: enough to begin a search with.
const describedFaults = 3

// fault counts one more in count and describes the first few.
func (f *Findings) fault(count *int, format string, args ...any) {
	*count++
	if *count <= describedFaults {
		f.Faults = append(f.Faults, fmt.Sprintf(format, args...))
	}
}

// story is what a judge knows about one id.
type story struct {
	put      *Put
	seen     bool
	sequence uint64
	attempt  uint32
	acked    bool
	// A message is counted once per kind of fault, however often it commits it.
	doubled, corrupt bool
}

// Judge finds the faults of a history. It is a pure function and takes linear time, sorting apart.
func Judge(h History) Findings {
	var f Findings
	stories := make(map[string]*story, len(h.Puts))
	for i := range h.Puts {
		stories[h.Puts[i].ID] = &story{put: &h.Puts[i]}
	}
	for i := range h.Seen {
		s := stories[h.Seen[i].ID]
		if s == nil {
			s = &story{}
			stories[h.Seen[i].ID] = s
			f.fault(&f.Invented, "invented: %s was handed out with sequence %d and put by nobody", h.Seen[i].ID, h.Seen[i].Sequence)
		}
		f.judgeSight(s, &h.Seen[i])
	}
	f.judgeProducers(h.Puts, stories)
	return f
}

// judgeSight weighs one sight against what was known of its id before.
func (f *Findings) judgeSight(s *story, now *Sight) {
	if now.Acked {
		s.acked = s.acked || now.Sequence == s.sequence
		return
	}
	if s.put != nil && now.Sum != s.put.Sum && !s.corrupt {
		s.corrupt = true
		f.fault(&f.Corrupt, "corrupt: %s was handed out with other bytes than were put", now.ID)
	}
	if !s.seen {
		s.seen, s.sequence, s.attempt = true, now.Sequence, now.Attempt
		return
	}
	what := ""
	switch {
	case now.Sequence != s.sequence:
		what = fmt.Sprintf("was handed out with sequence %d, and with %d", s.sequence, now.Sequence)
	case s.acked:
		what = fmt.Sprintf("(sequence %d) was handed out again after its ack was answered", s.sequence)
	case now.Attempt <= s.attempt:
		what = fmt.Sprintf("(sequence %d) was handed out as delivery %d after delivery %d", s.sequence, now.Attempt, s.attempt)
	default:
		f.Redelivered++
		s.attempt = now.Attempt
		return
	}
	if !s.doubled {
		s.doubled = true
		f.fault(&f.Doubled, "doubled: %s %s", now.ID, what)
	}
}

// judgeProducers looks for lost messages, and for sequences that do not rise with their producer's turns. Order is a matter
// of sequence and not of time: a message whose first delivery never arrived is handed out late, in its old place.
func (f *Findings) judgeProducers(puts []Put, stories map[string]*story) {
	order := make([]*Put, 0, len(puts))
	for i := range puts {
		if puts[i].Stored {
			order = append(order, &puts[i])
		}
	}
	slices.SortFunc(order, func(a, b *Put) int {
		if a.Producer != b.Producer {
			return a.Producer - b.Producer
		}
		return a.Turn - b.Turn
	})
	f.Stored = len(order)
	highest, by := uint64(0), (*Put)(nil)
	for i, p := range order {
		if i == 0 || p.Producer != order[i-1].Producer {
			highest, by = 0, nil
		}
		s := stories[p.ID]
		if !s.seen {
			f.fault(&f.Lost, "lost: %s (producer %d, turn %d) was stored and never handed out", p.ID, p.Producer, p.Turn)
			continue
		}
		f.Delivered++
		if by != nil && s.sequence <= highest {
			f.fault(&f.OutOfOrder, "out of order: %s (producer %d, turn %d) has sequence %d, turn %d has %d",
				p.ID, p.Producer, p.Turn, s.sequence, by.Turn, highest)
			continue
		}
		highest, by = s.sequence, p
	}
}

// Latencies returns how long each delivered message took from the beginning of its put to its first handing out, sorted.
func Latencies(h History) []time.Duration {
	began := make(map[string]time.Time, len(h.Puts))
	for i := range h.Puts {
		began[h.Puts[i].ID] = h.Puts[i].BeganAt
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
