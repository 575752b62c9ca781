package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// report prints the median and the spread of what was measured, and how many times the first contender's rate is the
// others'.
func report(w io.Writer, contenders []contender, measured map[place][]sample) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tengine\tmedian/s\tleast/s\tmost/s\tmessages/commit\tratio\t")
	for _, row := range rows() {
		first := middle(measured[place{row, contenders[0].name}])
		for _, c := range contenders {
			samples := measured[place{row, c.name}]
			m := middle(samples)
			perCommit := "–"
			if m.perCommit > 0 {
				perCommit = fmt.Sprintf("%.1f", m.perCommit)
			}
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.0f\t%s\t%.2f\t\n", row, c.name, m.perSecond,
				samples[0].perSecond, samples[len(samples)-1].perSecond, perCommit, first.perSecond/m.perSecond)
		}
	}
	fmt.Fprintln(table)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "ratio: the median of %s over that of the line\n", contenders[0].name)
	return err
}

// middle sorts the samples by rate and returns the median, the lower of two.
func middle(samples []sample) sample {
	slices.SortFunc(samples, func(a, b sample) int {
		switch {
		case a.perSecond < b.perSecond:
			return -1
		case a.perSecond > b.perSecond:
			return 1
		}
		return 0
	})
	return samples[(len(samples)-1)/2]
}

// machine says on what the figures were reached.
func machine() string {
	said := []string{fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH), fmt.Sprintf("%d cores", runtime.NumCPU()), runtime.Version()}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		said = append(said, "kernel "+strings.TrimSpace(string(release)))
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				said = append(said, strings.TrimSpace(value))
				break
			}
		}
	}
	return strings.Join(said, ", ")
}

// load is the load average of the machine, without which no figure means anything.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
