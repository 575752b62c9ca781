package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"drawbridge/link"
)

// states are the words of a link, those included that this version never says: a rule that names one must not fail for it.
func states() []string {
	return []string{
		string(link.Connecting), string(link.Up), string(link.Stalled), string(link.RemoteFull),
		string(link.LedgerFull), "paused", string(link.Refused), string(link.Draining),
	}
}

// linkFamilies tell of each link.
type linkFamilies struct {
	state, inState, rtt, connections, sent, lost family
}

func newLinkFamilies() linkFamilies {
	return linkFamilies{
		state:       gauge("link_state", "1 for the state that the link is in, 0 for the others.", "link", "state"),
		inState:     gauge("link_state_seconds", "How long the link has been in its state.", "link"),
		rtt:         gauge("link_rtt_seconds", "Round trip time, smoothed; 0 without a connection.", "link"),
		connections: gauge("link_connections", "Connections that stand.", "link"),
		sent:        counter("link_packets_sent_total", "Packets sent over the connections that stand; begins anew with them.", "link"),
		lost:        counter("link_packets_lost_total", "Packets lost of those sent over the connections that stand.", "link"),
	}
}

func (f linkFamilies) collect(links []link.Status, now time.Time, out chan<- prometheus.Metric) {
	for _, l := range links {
		for _, state := range states() {
			out <- f.state.sample(truth(state == string(l.State)), l.Name, state)
		}
		out <- f.inState.sample(max(0, now.Sub(l.Since).Seconds()), l.Name)
		out <- f.rtt.sample(l.RTT.Seconds(), l.Name)
		out <- f.connections.sample(float64(l.Connections), l.Name)
		out <- f.sent.sample(float64(l.PacketsSent), l.Name)
		out <- f.lost.sample(float64(l.PacketsLost), l.Name)
	}
}

// routeFamilies tell of each way out.
type routeFamilies struct {
	held, unanswered, unansweredBytes, oldest, settled, buried, resent, horizon family
}

// out is one way out, in is one way in.
type (
	out struct {
		link string
		link.SendStatus
	}
	in struct {
		link string
		link.ReceiveStatus
	}
)

func newRouteFamilies() routeFamilies {
	labels := []string{"link", "route", "queue"}
	return routeFamilies{
		held:            gauge("route_held", "1 while the peer refuses what the route ships, else 0.", labels...),
		unanswered:      gauge("route_unanswered_messages", "Messages shipped that wait for an answer.", labels...),
		unansweredBytes: gauge("route_unanswered_bytes", "Bytes of messages shipped that wait for an answer.", labels...),
		oldest:          gauge("route_oldest_unanswered_age_seconds", "How long the oldest message shipped has waited for an answer.", labels...),
		settled:         counter("route_settled_total", "Messages that were brought over.", labels...),
		buried:          counter("route_buried_total", "Messages that became dead letters on the route.", labels...),
		resent:          counter("route_resent_total", "Messages shipped again because their answer did not come.", labels...),
		horizon:         gauge("route_horizon_seconds", "The longest one message is retried; 0 for without end.", labels...),
	}
}

func (f routeFamilies) collect(routes []out, to chan<- prometheus.Metric) {
	for _, r := range routes {
		labels := []string{r.link, r.Name, r.From}
		to <- f.held.sample(truth(r.Held != ""), labels...)
		to <- f.unanswered.sample(float64(r.Unanswered), labels...)
		to <- f.unansweredBytes.sample(float64(r.UnansweredBytes), labels...)
		to <- f.oldest.sample(r.OldestUnanswered.Seconds(), labels...)
		to <- f.settled.sample(float64(r.Settled), labels...)
		to <- f.buried.sample(float64(r.Buried), labels...)
		to <- f.resent.sample(float64(r.Resent), labels...)
		to <- f.horizon.sample(r.RetryFor.Seconds(), labels...)
	}
}

// receiveFamilies tell of each way in.
type receiveFamilies struct {
	notTaken, accepted, duplicates, closed, refused, horizon family
}

func newReceiveFamilies() receiveFamilies {
	labels := []string{"link", "queue"}
	return receiveFamilies{
		notTaken:   gauge("receive_not_taken", "1 while nothing that the peer ships into the queue is taken, else 0.", labels...),
		accepted:   counter("receive_accepted_total", "Messages that the peer brought and that were admitted.", labels...),
		duplicates: counter("receive_duplicates_total", "Messages that the peer brought again and that were not admitted twice.", labels...),
		closed:     counter("receive_closed_total", "Messages that the peer has ended, and that will not come.", labels...),
		refused:    counter("receive_refused_total", "Messages of the peer that were refused, each attempt counted.", labels...),
		horizon:    gauge("receive_horizon_seconds", "The longest the peer retries one message; 0 for without end or not announced.", labels...),
	}
}

func (f receiveFamilies) collect(receives []in, to chan<- prometheus.Metric) {
	for _, r := range receives {
		to <- f.notTaken.sample(truth(r.Refusal != ""), r.link, r.To)
		to <- f.accepted.sample(float64(r.Accepted), r.link, r.To)
		to <- f.duplicates.sample(float64(r.Duplicates), r.link, r.To)
		to <- f.closed.sample(float64(r.Closed), r.link, r.To)
		to <- f.refused.sample(float64(r.Refused), r.link, r.To)
		to <- f.horizon.sample(r.Horizon.Seconds(), r.link, r.To)
	}
}
