package agent

import (
	"strings"
	"time"

	"drawbridge/api"
	"drawbridge/dedupe"
	"drawbridge/link"
	"drawbridge/spool"
)

// Links returns the state of every link, in the order of their names. It does not block.
func (a *Agent) Links() []api.Link {
	queued := make(map[string]spool.QueueStats)
	for _, q := range a.spool.Stats() {
		queued[q.Name] = q
	}
	ledger := a.spool.LedgerStats()
	all := make([]api.Link, 0, len(a.links))
	for _, l := range a.links {
		all = append(all, describeLink(l.Status(), queued, ledger))
	}
	return all
}

func describeLink(st link.Status, queued map[string]spool.QueueStats, ledger spool.LedgerStats) api.Link {
	l := api.Link{
		Name:          st.Name,
		State:         string(st.State),
		Reason:        st.Reason,
		Since:         st.Since,
		Peer:          st.Peer.String(),
		PeerAgent:     st.PeerAgent,
		Address:       st.Address,
		RTTMillis:     float64(st.RTT.Microseconds()) / 1000,
		Session:       st.Session,
		Sends:         make([]api.LinkRoute, 0, len(st.Sends)),
		Receives:      make([]api.LinkReceive, 0, len(st.Receives)),
		LastError:     st.LastError,
		ConnectedOver: st.Connections,
		PacketsSent:   st.PacketsSent,
		PacketsLost:   st.PacketsLost,
	}
	if !st.LastErrorAt.IsZero() {
		l.LastErrorAt = &st.LastErrorAt
	}
	for _, s := range st.Sends {
		l.Sends = append(l.Sends, describeRoute(st, s, queued[s.From].Messages))
	}
	for _, r := range st.Receives {
		window, effective := dedupe.Window(r.Horizon), ledger.EffectiveWindow
		if r.ByIDs {
			effective = ledger.PromisedEffective
		}
		l.Receives = append(l.Receives, api.LinkReceive{
			Queue:           r.To,
			Accepted:        r.Accepted,
			Reason:          r.Refusal,
			Duplicates:      r.Duplicates,
			Closed:          r.Closed,
			Refused:         r.Refused,
			Horizon:         horizon(r.Horizon),
			HorizonMillis:   r.Horizon.Milliseconds(),
			Window:          shortDuration(window),
			EffectiveWindow: shortDuration(min(window, effective)),
		})
	}
	return l
}

// horizon is in words how long a message may be retried; 0 means for ever.
func horizon(d time.Duration) string {
	if d > 0 {
		return shortDuration(d)
	}
	return "unbounded"
}

// describeRoute says of a route what its link does not say already: why it holds while the link is up, or that there is
// nothing to do.
func describeRoute(st link.Status, s link.SendStatus, queued uint64) api.LinkRoute {
	route := api.LinkRoute{
		Name:                   s.Name,
		From:                   s.From,
		To:                     s.To,
		State:                  string(st.State),
		Queued:                 queued,
		Unanswered:             uint64(s.Unanswered),
		UnansweredBytes:        uint64(s.UnansweredBytes),
		OldestUnansweredMillis: s.OldestUnanswered.Milliseconds(),
		Settled:                s.Settled,
		Buried:                 s.Buried,
		Resent:                 s.Resent,
		Horizon:                horizon(s.RetryFor),
	}
	switch {
	case st.State != link.Up && st.State != link.RemoteFull && st.State != link.LedgerFull:
		route.Reason = "the link is " + string(st.State)
	case s.Held != "":
		route.State, route.Reason = "held", s.Held
	case queued == 0:
		route.Reason = "nothing to send"
	}
	return route
}

// shortDuration writes hours, minutes and whole seconds without the zeroes behind them.
func shortDuration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
