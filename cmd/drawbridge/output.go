package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

func (g *globals) json() bool { return g.output == "json" }

// printJSON prints v indented, for people and tools alike.
func (g *globals) printJSON(v any) error {
	e := json.NewEncoder(g.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printLine prints v as one line of JSON, for lists that may not end.
func (g *globals) printLine(v any) error {
	e := json.NewEncoder(g.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table prints rows of cells in columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, heads ...any) *table {
	t := &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(heads...)
	return t
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(texts, "\t"), "\t"))
}

func (t *table) print() error { return t.w.Flush() }

// dash stands for what is not there, so that columns stay countable.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// period shows how long something is, as exactly as an operator wants to read it.
func period(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 24*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// sizeOf shows bytes in the units of the configuration.
func sizeOf(n uint64) string {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch {
	case n >= gib:
		return fmt.Sprintf("%.1fGiB", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%.1fMiB", float64(n)/mib)
	case n >= kib:
		return fmt.Sprintf("%.1fKiB", float64(n)/kib)
	}
	return fmt.Sprintf("%dB", n)
}
