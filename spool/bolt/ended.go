package bolt

import "drawbridge/spool"

// ended remembers deliveries that were settled, for callers whose answer was lost. It does not outlive the store's memory.
type ended struct {
	at    map[nonce]int64 // spool time
	order []nonce         // oldest first
}

func (e *ended) add(n nonce, now int64) {
	if n == (nonce{}) {
		return
	}
	if e.at == nil {
		e.at = make(map[nonce]int64)
	}
	e.at[n] = now
	e.order = append(e.order, n)
	for len(e.order) > 0 && (len(e.order) > spool.SettledMost || now-e.at[e.order[0]] > spool.SettledKept.Milliseconds()) {
		delete(e.at, e.order[0])
		e.order = e.order[1:]
	}
}

func (e *ended) has(n nonce, now int64) bool {
	at, ok := e.at[n]
	return ok && now-at <= spool.SettledKept.Milliseconds()
}
