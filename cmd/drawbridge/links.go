package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/api"
)

func linksCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "links [LINK]",
		Short: "Show how the links are, why, and what waits for them",
		Long: `links shows each link with its routes: the state, for how long and why; how much is
queued, how much of that was sent and waits for an answer, and for how long.
With the name of a link it shows all that is known of it.`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			if len(args) == 1 {
				link, err := agent.Link(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return g.printLink(link, time.Now())
			}
			links, err := agent.Links(cmd.Context())
			if err != nil {
				return err
			}
			return g.printLinks(links, time.Now())
		},
	}
}

func (g *globals) printLinks(links []api.Link, now time.Time) error {
	if g.json() {
		return g.printJSON(links)
	}
	if len(links) == 0 {
		_, err := fmt.Fprintln(g.stdout, "no links are configured")
		return err
	}
	t := newTable(g.stdout, "LINK", "STATE", "FOR", "RTT", "QUEUED", "UNANSWERED", "OLDEST", "REASON")
	for i := range links {
		addLink(t, &links[i], now)
	}
	return t.print()
}

// addLink adds a row for the link, then one per route: a route may hold while its link is up.
func addLink(t *table, l *api.Link, now time.Time) {
	var queued, unanswered uint64
	var oldest int64
	for _, route := range l.Sends {
		queued += route.Queued
		unanswered += route.Unanswered
		oldest = max(oldest, route.OldestUnansweredMillis)
	}
	t.row(l.Name, l.State, period(now.Sub(l.Since)), rtt(l.RTTMillis), queued, unanswered, millis(oldest), dash(l.Reason))
	for _, route := range l.Sends {
		t.row("  "+route.From+" -> "+route.To, route.State, "", "", route.Queued, route.Unanswered, millis(route.OldestUnansweredMillis), dash(route.Reason))
	}
	for _, in := range l.Receives {
		if in.Reason != "" {
			t.row("  "+in.Queue+" <-", "refused", "", "", "", "", "", in.Reason)
		}
	}
}

func (g *globals) printLink(l api.Link, now time.Time) error {
	if g.json() {
		return g.printJSON(l)
	}
	if err := g.printLinks([]api.Link{l}, now); err != nil {
		return err
	}
	fmt.Fprintln(g.stdout)
	facts := newTable(g.stdout, "peer id", l.Peer)
	facts.row("peer agent", dash(l.PeerAgent))
	facts.row("address", dash(l.Address))
	facts.row("session", dash(l.Session))
	facts.row("connections", l.ConnectedOver)
	facts.row("packets", fmt.Sprintf("%d sent, %d lost", l.PacketsSent, l.PacketsLost))
	facts.row("since", l.Since.Local().Format(time.DateTime))
	if l.LastErrorAt != nil {
		facts.row("last error", l.LastError)
		facts.row("at", fmt.Sprintf("%s, %s ago", l.LastErrorAt.Local().Format(time.DateTime), period(now.Sub(*l.LastErrorAt))))
	}
	for _, route := range l.Sends {
		facts.row("send "+route.From+" -> "+route.To, fmt.Sprintf("%d settled, %d buried, %d resent, %s unanswered, horizon %s", route.Settled, route.Buried, route.Resent, sizeOf(route.UnansweredBytes), dash(route.Horizon)))
	}
	for _, in := range l.Receives {
		facts.row("receive "+in.Queue, fmt.Sprintf("%d accepted, %d duplicates, %d closed, %d refused, horizon %s, window %s, effective %s", in.Accepted, in.Duplicates, in.Closed, in.Refused, dash(in.Horizon), dash(in.Window), dash(in.EffectiveWindow)))
		if in.Reason != "" {
			facts.row("", "refused: "+in.Reason)
		}
	}
	return facts.print()
}

func rtt(ms float64) string {
	if ms <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fms", ms)
}

func millis(ms int64) string { return period(time.Duration(ms) * time.Millisecond) }
