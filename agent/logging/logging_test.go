package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/logging"
	"drawbridge/message"
)

// paper is what a log is written on.
type paper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), text)
}

func (p *paper) require(t *testing.T, text string, count int) {
	t.Helper()
	if got := p.count(text); got != count {
		t.Errorf("%q is logged %d times, want %d, in:\n%s", text, got, count, &p.text)
	}
}

func newLog(t *testing.T, o logging.Options) (*logging.Log, *paper) {
	t.Helper()
	p := new(paper)
	o.Output, o.Parts = p, []string{"agent", "link", "spool"}
	if o.Level == hclog.NoLevel {
		o.Level = hclog.Info
	}
	l := logging.New(o)
	t.Cleanup(l.Close)
	return l, p
}

func TestEachPartHasItsLevel(t *testing.T) {
	l, p := newLog(t, logging.Options{Levels: map[string]hclog.Level{"link": hclog.Debug, "spool": hclog.Warn}})
	agent := l.Logger().Named("agent")
	link := agent.Named("link").With("link", "nyc")
	spool := l.Logger().Named("spool")
	agent.Debug("agent debug")
	link.Debug("link debug")
	spool.Info("spool info")
	spool.Warn("spool warn")
	p.require(t, "agent debug", 0)
	p.require(t, "[DEBUG] agent.link: link debug: link=nyc", 1)
	p.require(t, "spool info", 0)
	p.require(t, "spool warn", 1)
	if agent.IsDebug() || !link.IsDebug() || spool.IsInfo() || spool.GetLevel() != hclog.Warn {
		t.Error("a logger does not know its level")
	}
}

func TestLevelsChangeWhileLoggersAreInUse(t *testing.T) {
	l, p := newLog(t, logging.Options{Levels: map[string]hclog.Level{"spool": hclog.Warn}})
	link := l.Logger().Named("agent").Named("link").With("link", "nyc")
	spool := l.Logger().Named("spool")
	for _, step := range []struct {
		part, level string
		link, spool bool
	}{
		{"link", "debug", true, false},
		{"", "debug", true, true},
		{"link", "default", false, true},
		{"", "error", false, false},
		{"", "trace", true, true},
		{"", "default", false, false},
	} {
		if err := l.SetLevel(step.part, step.level); err != nil {
			t.Fatal(err)
		}
		if link.IsDebug() != step.link || spool.IsDebug() != step.spool {
			t.Errorf("after %s %q: link debug %t, spool debug %t", step.level, step.part, link.IsDebug(), spool.IsDebug())
		}
	}
	if got := l.Levels(); len(got) != 3 || got["link"] != "info" || got["spool"] != "warn" || got["agent"] != "info" {
		t.Errorf("levels %v", got)
	}
	p.require(t, "log level changed: part=spool level=error before=debug", 1)
}

func TestAMistakeInALevelChangesNothing(t *testing.T) {
	l, _ := newLog(t, logging.Options{})
	for _, c := range []struct{ part, level, hint string }{
		{"lnik", "debug", "agent, link, spool"},
		{"link", "verbose", "trace, debug, info, warn, error"},
		{"link", "", "default"},
	} {
		if err := l.SetLevel(c.part, c.level); err == nil || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("SetLevel(%q, %q): %v", c.part, c.level, err)
		}
	}
	for part, level := range l.Levels() {
		if level != "info" {
			t.Errorf("%s is at %s", part, level)
		}
	}
}

func TestAFloodIsBoundedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLog(t, logging.Options{})
		link := l.Logger().Named("agent").Named("link")
		nyc, par := link.With("link", "nyc"), link.With("link", "par")
		for range 10_000 {
			nyc.Warn("link stalled", "silent", time.Now())
		}
		par.Warn("link stalled")
		nyc.Warn("link down")
		p.require(t, "link stalled", 31) // of another link, none is held back
		p.require(t, "link down", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.require(t, `[WARN]  agent.link: lines held back: link=nyc text="link stalled" count=9970 written=30 within=1m0s`, 1)
		p.require(t, "lines held back", 1)
		nyc.Warn("link stalled")
		p.require(t, "link=nyc silent=", 30)
		l.Close()
	})
}

func TestOnlyIdenticalErrorsAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLog(t, logging.Options{})
		spool := l.Logger().Named("spool")
		for i := range 100 {
			spool.Error("stored message is unreadable", "sequence", i)
			spool.Error("commit failed", "error", errors.New("no space left"))
		}
		p.require(t, "stored message is unreadable", 100)
		p.require(t, "commit failed", 30)
		l.Close()
		p.require(t, "[ERROR] spool: lines held back", 1)
	})
}

func TestNothingIsHeldBackFromWhoAsksForDebug(t *testing.T) {
	l, p := newLog(t, logging.Options{Level: hclog.Trace})
	for range 200 {
		l.Logger().Named("link").Debug("batch")
		l.Logger().Named("link").Trace("frame")
	}
	p.require(t, "batch", 200)
	p.require(t, "frame", 200)
}

func TestTheTextsOfLibrariesAreOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLog(t, logging.Options{JSON: true})
		std := l.Logger().Named("agent").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn})
		for i := range 100 {
			std.Printf("http: bad request %d from a client", i)
		}
		p.require(t, `"@message":"a library reports"`, 30)
		p.require(t, `"text":"http: bad request 7 from a client"`, 1)
		l.Close()
		for line := range strings.Lines(p.text.String()) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["@level"] != "warn" {
				t.Errorf("%s: %v", line, err)
			}
		}
	})
}

func TestFactsReadTheSameInBothFormats(t *testing.T) {
	epoch := message.Epoch{Counter: 1, Tag: 2}
	for _, json := range []bool{false, true} {
		l, p := newLog(t, logging.Options{JSON: json})
		facts := []any{"epoch", epoch, "took", 1500 * time.Millisecond, "error", errors.New("cut"), "count", 90877}
		l.Logger().With("address", &net.UDPAddr{Port: 4747}).Info("told", facts...)
		for _, words := range []string{epoch.String(), "1.5s", "cut", ":4747", "90877"} {
			p.require(t, words, 1)
		}
		if facts[1] != epoch {
			t.Error("the caller's facts were changed")
		}
	}
}

func TestKindsOfLinesAreBoundedInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLog(t, logging.Options{})
		for i := range 5000 {
			l.Logger().Error("told", "nonce", i)
		}
		p.require(t, "told", 5000)
		l.Close()
	})
}

func TestLoggersAreSharedByGoroutines(t *testing.T) {
	l, p := newLog(t, logging.Options{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				l.Logger().Named("link").Warn("at once")
			}
		})
		all.Go(func() {
			for _, level := range []string{"debug", "info", "default"} {
				if err := l.SetLevel("", level); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p.require(t, "at once", 30)
}
