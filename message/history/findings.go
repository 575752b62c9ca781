package history

import "fmt"

// Findings are what the judge found in a history. Stored is the sum of Delivered, Waiting, Dead and Lost; faults count
// messages, once per kind however often one commits it.
type Findings struct {
	// Stored counts messages whose producer heard so, Delivered those of them that were handed out.
	Stored    int `json:"stored"`
	Delivered int `json:"delivered"`
	// Waiting counts stored messages that a queue still holds, Dead those that are dead letters; neither was handed out.
	Waiting int `json:"waiting,omitempty"`
	Dead    int `json:"dead,omitempty"`
	// Requeued counts the dead letters of which an operator was told that they are requeued.
	Requeued int `json:"requeued,omitempty"`
	// Lost: stored and nowhere, in the last generation that it has.
	Lost int `json:"lost"`
	// Doubled: stored twice; or, in one generation, seen or left under two sequences, handed out again after its ack was answered
	// or left in a queue after it, handed out twice as the same delivery, requeued twice, or left dead after it was requeued.
	Doubled int `json:"doubled"`
	// OutOfOrder: has a lower sequence than a message that its producer stored earlier in the same queue and priority. A message
	// that was requeued has lost its place, and is out of the order.
	OutOfOrder int `json:"out_of_order"`
	// Corrupt: handed out or left with other bytes than were put.
	Corrupt int `json:"corrupt"`
	// Invented: handed out or left, but put by nobody, or only by producers who heard that it was not stored; or in a generation
	// into which nobody requeued it.
	Invented int `json:"invented,omitempty"`
	// Both: in one generation a dead letter, for any reason but in-doubt, and delivered too.
	Both int `json:"both,omitempty"`
	// Lying counts figures that are not what was seen.
	Lying int `json:"lying,omitempty"`
	// Redelivered counts deliveries after the first of a message in its own place, before its ack was answered. No fault.
	Redelivered int `json:"redelivered"`
	// Faults describes the first faults of each kind.
	Faults []string `json:"faults,omitempty"`
}

// Clean says that no fault was found.
func (f *Findings) Clean() bool {
	return f.Lost+f.Doubled+f.OutOfOrder+f.Corrupt+f.Invented+f.Both+f.Lying == 0
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

// once is fault for a kind that a message commits for the first time.
func (f *Findings) once(done *bool, count *int, format string, args ...any) {
	if !*done {
		*done = true
		f.fault(count, format, args...)
	}
}
