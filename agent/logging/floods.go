package logging

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// perMinute is how many lines of one kind are written in a minute, the rest is counted.
	perMinute = 30
	minute    = time.Minute
	// maxKinds bounds the memory: beyond it lines of new kinds are written without a bound until a minute has passed.
	maxKinds = 4096
)

// line is one line to be written.
type line struct {
	out     hclog.Logger
	implied string
	level   hclog.Level
	text    string
	facts   []any
}

// kind is what makes lines say the same.
type kind struct {
	logger, implied string
	level           hclog.Level
	text            string
	// facts are told apart at Error only: an operator must see each different one.
	facts string
}

func (l line) kind() kind {
	k := kind{logger: l.out.Name(), implied: l.implied, level: l.level, text: l.text}
	if l.level >= hclog.Error {
		k.facts = fmt.Sprint(l.facts...)
	}
	return k
}

// floods bounds lines of each kind. Debug and Trace pass: who has asked for them looks for each.
type floods struct {
	mu    sync.Mutex // guards all below
	kinds map[kind]*flood
	over  bool
}

// flood is the present minute of one kind.
type flood struct {
	out     hclog.Logger
	written int
	held    int
	end     *time.Timer
}

func newFloods() *floods { return &floods{kinds: make(map[kind]*flood)} }

func (f *floods) write(l line) {
	if l.level < hclog.Info || f.passes(l) {
		l.out.Log(l.level, l.text, l.facts...)
	}
}

// passes counts a line and tells whether it is to be written.
func (f *floods) passes(l line) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return true
	}
	k := l.kind()
	now := f.kinds[k]
	switch {
	case now == nil && len(f.kinds) >= maxKinds:
		return true
	case now == nil:
		now = &flood{out: l.out}
		now.end = time.AfterFunc(minute, func() { f.end(k) })
		f.kinds[k] = now
	}
	if now.written < perMinute {
		now.written++
		return true
	}
	now.held++
	return false
}

// end ends a minute of one kind.
func (f *floods) end(k kind) {
	f.mu.Lock()
	now := f.kinds[k]
	delete(f.kinds, k)
	f.mu.Unlock()
	if now != nil {
		now.tell(k)
	}
}

// tell says how many lines were held back.
func (f *flood) tell(k kind) {
	if f.held > 0 {
		f.out.Log(k.level, "lines held back", "text", k.text, "count", f.held, "written", f.written, "within", minute)
	}
}

func (f *floods) close() {
	f.mu.Lock()
	kinds := f.kinds
	f.kinds, f.over = nil, true
	f.mu.Unlock()
	for k, now := range kinds {
		now.end.Stop() // one that has begun finds nothing
		now.tell(k)
	}
}
