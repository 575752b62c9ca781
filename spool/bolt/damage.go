package bolt

import (
	"sync"

	"github.com/hashicorp/go-hclog"
)

// maxDamage bounds what is remembered for logging a damage once.
const maxDamage = 1024

// damage logs each unreadable message or group once.
type damage struct {
	log hclog.Logger

	mu   sync.Mutex
	seen map[damagedAt]struct{}
}

type damagedAt struct {
	queue    string
	sequence uint64
}

func newDamage(log hclog.Logger) *damage {
	return &damage{log: log, seen: make(map[damagedAt]struct{})}
}

func (d *damage) report(queue string, sequence uint64, err error) {
	at := damagedAt{queue, sequence}
	d.mu.Lock()
	_, known := d.seen[at]
	if !known && len(d.seen) < maxDamage {
		d.seen[at] = struct{}{}
	}
	d.mu.Unlock()
	if !known {
		d.log.Error("stored message is unreadable, kept and left out", "queue", queue, "sequence", sequence, "error", err)
	}
}
