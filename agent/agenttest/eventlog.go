package agenttest

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// keptEvents is how many of the last events are told when a trial fails.
const keptEvents = 400

// eventLog is what happened in a trial, in order, with virtual times. It is an io.Writer for the agents' own logs.
type eventLog struct {
	began time.Time
	// dir is left out: its name is another each time.
	dir string

	mu     sync.Mutex
	count  int
	digest uint64 // of all events: two runs of a seed are the same if it is
	last   [keptEvents]string
}

func newEventLog(dir string) *eventLog { return &eventLog{began: time.Now(), dir: dir} }

func (l *eventLog) add(actor, format string, args ...any) {
	line := fmt.Sprintf("%14s  %-12s %s", time.Since(l.began).Round(time.Millisecond), actor, fmt.Sprintf(format, args...))
	line = strings.ReplaceAll(line, l.dir, "")
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range len(line) {
		l.digest = (l.digest ^ uint64(line[i])) * 1099511628211 // FNV-1a
	}
	l.last[l.count%keptEvents] = line
	l.count++
}

// of returns a writer for the log of an agent.
func (l *eventLog) of(actor string) logWriter { return logWriter{l, actor} }

type logWriter struct {
	log   *eventLog
	actor string
}

func (w logWriter) Write(line []byte) (int, error) {
	w.log.add(w.actor, "%s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// String returns the last events.
func (l *eventLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for i := max(0, l.count-keptEvents); i < l.count; i++ {
		b.WriteString(l.last[i%keptEvents])
		b.WriteByte('\n')
	}
	return b.String()
}

// fingerprint names all that has happened.
func (l *eventLog) fingerprint() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d events, %016x", l.count, l.digest)
}
