package demo

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"drawbridge/message/history"
)

// Verdict is what a crossing came to.
type Verdict struct {
	history.Findings
	// PacketsDropped counts what the relay kept back, by its loss and in outages.
	PacketsDropped uint64 `json:"packets_dropped"`
	// Outages, KillsOfA and KillsOfB count the events that really hit.
	Outages  int `json:"outages"`
	KillsOfA int `json:"kills_of_a"`
	KillsOfB int `json:"kills_of_b"`
	// Seconds run from the first put to the last handing out, outages and restarts included.
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messages_per_second"`
	// Latencies run from the beginning of a put to the first handing out, in milliseconds.
	LatencyP50 float64 `json:"latency_p50_ms"`
	LatencyP99 float64 `json:"latency_p99_ms"`
	// Missed names the events that did not hit, and why; an agent that would not stop in the end counts as one.
	Missed []string `json:"missed,omitempty"`
	// Stopped says why the crossing was ended before all was delivered; empty if it was not.
	Stopped string `json:"stopped,omitempty"`
}

// OK says that nothing was lost, doubled, out of order, corrupt or invented, that all was delivered and every event hit.
func (v Verdict) OK() bool { return v.Clean() && len(v.Missed) == 0 && v.Stopped == "" }

// WriteText writes one name and its value a line. What explains a failure follows, if there is any.
func (v Verdict) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, value string) { _, _ = fmt.Fprintf(t, "%s\t%s\n", name, value) }
	count := func(name string, n int) { line(name, strconv.Itoa(n)) }
	count("stored", v.Stored)
	count("delivered", v.Delivered)
	count("lost", v.Lost)
	count("doubled", v.Doubled)
	count("out of order", v.OutOfOrder)
	count("corrupt", v.Corrupt)
	if v.Invented > 0 {
		count("invented", v.Invented)
	}
	count("redelivered", v.Redelivered)
	line("packets dropped", strconv.FormatUint(v.PacketsDropped, 10))
	count("outages", v.Outages)
	count("kills of A", v.KillsOfA)
	count("kills of B", v.KillsOfB)
	line("seconds", strconv.FormatFloat(v.Seconds, 'f', 1, 64))
	line("messages/s", strconv.FormatFloat(v.MessagesPerSecond, 'f', 0, 64))
	line("latency p50", milliseconds(v.LatencyP50))
	line("latency p99", milliseconds(v.LatencyP99))
	for _, fault := range v.Faults {
		line("fault", fault)
	}
	for _, missed := range v.Missed {
		line("missed", missed)
	}
	if v.Stopped != "" {
		line("stopped", v.Stopped)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	return nil
}

func milliseconds(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) + "ms" }

// measure fills in what is computed from the times in a history.
func (v *Verdict) measure(h history.History) {
	var first, last time.Time
	for i := range h.Puts {
		if at := h.Puts[i].BeganAt; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for i := range h.Seen {
		if at := h.Seen[i].At; at.After(last) {
			last = at
		}
	}
	if took := last.Sub(first); !first.IsZero() && took > 0 {
		v.Seconds = took.Seconds()
		v.MessagesPerSecond = float64(v.Delivered) / v.Seconds
	}
	if sorted := history.Latencies(h); len(sorted) > 0 {
		v.LatencyP50 = inMilliseconds(sorted[len(sorted)*50/100])
		v.LatencyP99 = inMilliseconds(sorted[len(sorted)*99/100])
	}
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
