package message

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"drawbridge/message/pack"
)

// Reason is the stable word for why a message became a dead letter. A newer agent may know more of them.
type Reason string

// The reasons for which this program ends a message.
const (
	// ReasonMaxDeliveries: it was handed to consumers as often as its queue allows, and never acked.
	ReasonMaxDeliveries Reason = "max-deliveries"
	// ReasonTTL: its time to live ran out.
	ReasonTTL Reason = "ttl"
	// ReasonHorizonPassed: its route has tried for as long as it may.
	ReasonHorizonPassed Reason = "horizon-passed"
	// ReasonRejected: a consumer or a peer does not want it.
	ReasonRejected Reason = "rejected"
	// ReasonCorrupt: its bytes do not match their checksum.
	ReasonCorrupt Reason = "corrupt"
	// ReasonTooLarge: the far queue takes no body of that size.
	ReasonTooLarge Reason = "too-large"
	// ReasonIDConflict: its id is known at the far side with other content.
	ReasonIDConflict Reason = "id-conflict"
	// ReasonLoop: it has passed the far agent before, or too many agents.
	ReasonLoop Reason = "loop"
	// ReasonMalformed: it breaks a rule of the far agent.
	ReasonMalformed Reason = "malformed"
	// ReasonInDoubt: perhaps delivered, and nobody can tell any more.
	ReasonInDoubt Reason = "in-doubt"
	// ReasonOverflow: there was no room for it.
	ReasonOverflow Reason = "overflow"
)

// Bounds of a Death.
const (
	MaxReasonBytes    = 32
	MaxDeathTextBytes = 512
	// MaxRouteNameBytes bounds the name of a route, which is 1 to that many printable ASCII characters without space.
	MaxRouteNameBytes = 128
	maxDeathBytes     = (1 + MaxReasonBytes) + (2 + MaxDeathTextBytes) + (1 + MaxQueueNameBytes) + (2 + MaxRouteNameBytes) + 5 + 8
)

// Death is how a message came among the dead letters.
type Death struct {
	Reason Reason
	// Text says more, for people; at most MaxDeathTextBytes are kept.
	Text string
	// Queue is the queue that it died in, Route the way out on which; empty if it died of a local consumer or of its age.
	Queue, Route string
	// Deliveries counts how often the message was handed to a consumer of that queue.
	Deliveries uint32
	// At is the agent's wall clock in milliseconds UTC. Information only.
	At time.Time
}

func (d *Death) append(b []byte) []byte {
	b = pack.AppendString(b, d.Reason)
	b = pack.AppendString(b, clean(d.Text))
	b = pack.AppendString(b, d.Queue)
	b = pack.AppendString(b, d.Route)
	b = pack.AppendUvarint(b, uint64(d.Deliveries))
	return pack.AppendUint64(b, uint64(d.At.UnixMilli()))
}

// clean returns what of a text is kept: UTF-8 without control characters, which could drive a terminal, up to the limit.
func clean(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= MaxDeathTextBytes {
		return text
	}
	n := MaxDeathTextBytes
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func parseDeath(r *pack.Reader) *Death {
	d := &Death{
		Reason:     Reason(r.String(MaxReasonBytes)),
		Text:       r.String(MaxDeathTextBytes),
		Queue:      r.String(MaxQueueNameBytes),
		Route:      r.String(MaxRouteNameBytes),
		Deliveries: uint32(r.Count(1<<32 - 1)),
	}
	d.At = time.UnixMilli(int64(r.Uint64())).UTC()
	switch {
	case r.Err() != nil:
	case !spell(string(d.Reason), MaxReasonBytes, wordBytes, wordBytes):
		r.Failf("the reason of a death is not made of a-z and -")
	case d.Text != clean(d.Text):
		r.Failf("the text of a death is not UTF-8 without control characters")
	case CheckQueue(d.Queue) != nil:
		r.Failf("the queue of a death is none")
	case d.Route != "" && !spell(d.Route, MaxRouteNameBytes, idBytes, idBytes):
		r.Failf("the route of a death is none")
	}
	return d
}
