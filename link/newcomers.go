package link

import (
	"fmt"
	"sync"
	"time"

	"drawbridge/message"
	"drawbridge/protocol"
)

// A stream costs its receiver some hundred bytes for good. An honest sender begins one for each lane that it uses after a
// start, so these bounds are met only by one that has started some thousand times while the link was down, and then they make
// it slow. A hostile one would else fill the memory in hours.
const (
	// newcomersAtOnce is how many streams a peer may begin at once.
	newcomersAtOnce = 16_384
	// newcomerEvery is the time after which it may begin one more.
	newcomerEvery = 5 * time.Second
)

// newcomers counts the streams that a peer begins, over all its sessions. It may be shared.
type newcomers struct {
	mu   sync.Mutex // guards what follows
	used int
	at   time.Time // until when used was last lowered
	told bool      // that there is no room; until half of it is there again
}

// full reports whether no stream may be begun at now, and whether that is news.
func (n *newcomers) full(now time.Time) (full, news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.used == 0 {
		n.at = now
	}
	free := int(min(now.Sub(n.at)/newcomerEvery, newcomersAtOnce))
	n.used = max(0, n.used-free)
	n.at = n.at.Add(time.Duration(free) * newcomerEvery)
	full = n.used >= newcomersAtOnce
	news = full && !n.told
	n.told = n.told && n.used > newcomersAtOnce/2 || full
	return full, news
}

// begun notes one.
func (n *newcomers) begun() {
	n.mu.Lock()
	n.used++
	n.mu.Unlock()
}

// admits reports whether a stream may be decided: it is known, or there is room for one more. Else the route is refused for it,
// and its sender tries again.
func (r *receiver) admits(stream message.StreamID, known bool) bool {
	if known {
		return true
	}
	l := r.s.link
	full, news := l.newcomers.full(time.Now())
	if news {
		l.log.Warn("new streams are refused for now", "peer", r.s.peer.agent, "queue", r.To, "count", newcomersAtOnce, "every", newcomerEvery)
	}
	if full {
		r.s.refuseRoute(r.To, stream, protocol.CodeRemoteFull,
			fmt.Sprintf("agent %q has taken %d new streams over its link %q, and takes one more each %s", l.o.Agent, newcomersAtOnce, l.o.Name, newcomerEvery))
	}
	return !full
}
