package agent

import (
	"sync"

	"github.com/hashicorp/go-hclog"

	"drawbridge/link"
)

// maxStrangers bounds what is remembered of peers that were turned away.
const maxStrangers = 1024

// strangers logs each unknown key once: a peer that is turned away comes again every few seconds, for ever.
type strangers struct {
	log  hclog.Logger
	mu   sync.Mutex // guards seen
	seen map[link.Pin]bool
}

func newStrangers(log hclog.Logger) *strangers {
	return &strangers{log: log, seen: make(map[link.Pin]bool)}
}

func (s *strangers) refused(pin link.Pin, addr string) {
	s.mu.Lock()
	known := s.seen[pin] || len(s.seen) >= maxStrangers
	if !known {
		s.seen[pin] = true
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("stranger refused: no link has this peer_id", "peer", pin, "address", addr)
	}
}
