package protocol

import (
	"drawbridge/message"
	"drawbridge/message/pack"
)

// MaxAcceptedRanges is how many ranges an Accepted may carry.
const MaxAcceptedRanges = 512

// Accepted says what the receiver has decided, after the decision was synced to its disk.
type Accepted struct {
	Answer
	// Ranges are rising and disjoint; there is at least one.
	Ranges []AcceptedRange
}

// AcceptedRange is a run of consecutive numbers with one verdict, which is message.Accepted, Duplicate or Below.
type AcceptedRange struct {
	message.Range
	Verdict message.Verdict
}

// Type implements Frame.
func (*Accepted) Type() Type { return TypeAccepted }

func (a *Accepted) appendPayload(b []byte) []byte {
	b = append(b, a.Session[:]...)
	b = a.appendSubject(b)
	b = pack.AppendUvarint(b, uint64(len(a.Ranges)))
	var before uint64
	for i := range a.Ranges {
		b = appendRange(b, before, a.Ranges[i].Range)
		b = append(b, byte(a.Ranges[i].Verdict))
		before = a.Ranges[i].Last
	}
	return b
}

func (a *Accepted) parse(r *pack.Reader) {
	a.Session = readSession(r)
	a.readSubject(r)
	const leastBytes = 1 + 1 + 1
	a.Ranges = make([]AcceptedRange, readCount(r, MaxAcceptedRanges, leastBytes))
	var before uint64
	for i := range a.Ranges {
		a.Ranges[i] = AcceptedRange{Range: readRange(r, before), Verdict: message.Verdict(r.Byte())}
		before = a.Ranges[i].Last
		switch a.Ranges[i].Verdict {
		case message.Accepted, message.Duplicate, message.Below:
		default:
			r.Failf("%s is not a verdict of this frame", a.Ranges[i].Verdict)
		}
	}
	if len(a.Ranges) == 0 {
		r.Failf("an answer without a range")
	}
}
