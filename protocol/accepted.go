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

// AcceptedRange is a run of consecutive numbers with one verdict, which is any but message.Undecided and Refused.
type AcceptedRange struct {
	message.Range
	Verdict message.Verdict
	// Young says, with message.Below and Closed, that the receiver would know if the message had come under another number.
	Young bool
	// Reason is that of the Close that was obeyed, with message.Closed.
	Reason message.Reason
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
		b = a.Ranges[i].appendVerdict(b)
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
		a.Ranges[i].Range = readRange(r, before)
		a.Ranges[i].readVerdict(r)
		before = a.Ranges[i].Last
	}
	if len(a.Ranges) == 0 {
		r.Failf("an answer without a range")
	}
}

func (g *AcceptedRange) appendVerdict(b []byte) []byte {
	b = append(b, byte(g.Verdict))
	switch g.Verdict {
	case message.Below:
		b = pack.AppendBool(b, g.Young)
	case message.Closed:
		b = pack.AppendBool(b, g.Young)
		b = pack.AppendString(b, g.Reason)
	}
	return b
}

func (g *AcceptedRange) readVerdict(r *pack.Reader) {
	switch g.Verdict = message.Verdict(r.Byte()); g.Verdict {
	case message.Accepted, message.Duplicate, message.Retired:
	case message.Below:
		g.Young = r.Bool()
	case message.Closed:
		g.Young = r.Bool()
		g.Reason = readReason(r)
	default:
		r.Failf("%s is not a verdict of this frame", g.Verdict)
	}
}
