package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func deadListCommand(g *globals) *cobra.Command {
	var choose deadFlags
	var max int
	cmd := &cobra.Command{
		Use:   "list QUEUE",
		Short: "List dead letters in the order in which they died",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if max < 1 {
				return usageOf(cmd, fmt.Errorf("--max %d: use 1 or more", max))
			}
			filter, err := choose.read(cmd)
			if err != nil {
				return err
			}
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			letters, err := agent.DeadLetters(cmd.Context(), args[0], filter, max)
			if err != nil {
				return err
			}
			if len(letters) == 0 {
				return errNothing
			}
			return g.printLetters(letters)
		},
	}
	choose.add(cmd)
	cmd.Flags().IntVar(&max, "max", 20, "list up to so many")
	return cmd
}

func (g *globals) printLetters(letters []client.DeadLetter) error {
	if g.json() {
		for i := range letters {
			if err := g.printLine(letterLine(&letters[i])); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(g.stdout, "SEQUENCE", "ID", "REASON", "DIED", "DELIVERIES", "ROUTE", "TEXT")
	for i := range letters {
		l := &letters[i]
		t.row(l.Sequence, l.ID, l.Death.Reason, l.Death.At.Local().Format(time.DateTime), l.Death.Deliveries, dash(l.Death.Route), dash(l.Death.Text))
	}
	return t.print()
}

func letterLine(l *client.DeadLetter) api.Peeked {
	line := api.Peeked{Message: messageLine(&l.Stored), Leased: l.Leased, Waiting: l.Waiting}
	line.Death = &l.Death
	return line
}

func deadCountCommand(g *globals) *cobra.Command {
	var choose deadFlags
	cmd := &cobra.Command{
		Use:   "count QUEUE",
		Short: "Count dead letters, by the reasons of their deaths",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := choose.read(cmd)
			if err != nil {
				return err
			}
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			count, err := agent.DeadCount(cmd.Context(), args[0], filter)
			if err != nil {
				return err
			}
			return g.printCount(count, time.Now())
		},
	}
	choose.add(cmd)
	return cmd
}

func (g *globals) printCount(count api.DeadCount, now time.Time) error {
	if g.json() {
		return g.printJSON(count)
	}
	t := newTable(g.stdout, "REASON", "MESSAGES")
	for _, reason := range slices.Sorted(maps.Keys(count.ByReason)) {
		t.row(reason, count.ByReason[reason])
	}
	t.row("matching", count.Matching)
	t.row("of", count.Total)
	if count.OldestAt != nil {
		t.row("oldest", fmt.Sprintf("%s, %s ago", count.OldestAt.Local().Format(time.DateTime), period(now.Sub(*count.OldestAt))))
	}
	return t.print()
}

func deadShowCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show QUEUE ID|SEQUENCE",
		Short: "Show all of one dead letter: headers, death and body",
		Long: `show prints all of one dead letter. The body is printed as it is if it is UTF-8 that a
terminal can show, else as base64. A number is looked up as a sequence first.`,
		Args: arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			if sequence, err := strconv.ParseUint(args[1], 10, 64); err == nil {
				letters, err := agent.DeadLetters(cmd.Context(), args[0], client.DeadFilter{From: sequence}, 1)
				if err != nil {
					return err
				}
				if len(letters) == 1 && letters[0].Sequence == sequence {
					return g.printLetter(&letters[0])
				}
			}
			letters, err := agent.DeadLetters(cmd.Context(), args[0], client.DeadFilter{ID: args[1]}, 1)
			if err != nil {
				return err
			}
			if len(letters) == 0 {
				return errNothing
			}
			return g.printLetter(&letters[0])
		},
	}
}

func (g *globals) printLetter(l *client.DeadLetter) error {
	if g.json() {
		return g.printJSON(letterLine(l))
	}
	t := newTable(g.stdout, "id", l.ID)
	t.row("sequence", l.Sequence)
	t.row("reason", l.Death.Reason)
	t.row("text", dash(l.Death.Text))
	t.row("died", l.Death.At.Local().Format(time.DateTime))
	t.row("in queue", l.Death.Queue)
	t.row("route", dash(l.Death.Route))
	t.row("deliveries", l.Death.Deliveries)
	t.row("leased", l.Leased)
	t.row("origin", l.Origin)
	t.row("stored", l.StoredAt.Local().Format(time.DateTime))
	t.row("priority", l.Priority)
	t.row("key", dash(plain(l.Key)))
	t.row("qos", l.QoS)
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		t.row("header "+name, plain(l.Headers[name]))
	}
	text, form := bodyText(l.Body)
	t.row("body", fmt.Sprintf("%d bytes, %s", len(l.Body), form))
	if err := t.print(); err != nil || len(l.Body) == 0 {
		return err
	}
	_, err := fmt.Fprintf(g.stdout, "\n%s\n", strings.TrimSuffix(text, "\n"))
	return err
}

// plain quotes a text that would steer a terminal or break a line: it may come from another host.
func plain(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(c rune) bool { return !strconv.IsPrint(c) }) < 0 {
		return text
	}
	return strconv.Quote(text)
}

// bodyText returns a body as a terminal may show it, and in which form that is.
func bodyText(body []byte) (text, form string) {
	steers := func(c rune) bool { return c != '\n' && c != '\t' && !strconv.IsPrint(c) }
	if utf8.Valid(body) && strings.IndexFunc(string(body), steers) < 0 {
		return string(body), "UTF-8"
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}
