package agent

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawbridge/api"
	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/spool"
)

const (
	// healthPatience is how long a question about health may wait for a disk. Who asks has a timeout too, often of a second.
	healthPatience = 900 * time.Millisecond
	// diskFresh is how old the last try of the disk may be: many may ask, and each try is a sync.
	diskFresh = 2 * time.Second
	// diskDead is how long a disk may be silent before no put is taken to succeed.
	diskDead = 5 * time.Second
	// lowDiskBytes is a few steps by which the spool's file grows, and the room that taking messages out needs.
	lowDiskBytes = 64 << 20
	// reopenedShown is how long a failed commit is remembered: whoever looks each half minute sees it.
	reopenedShown = time.Minute
	// ledgerNear is the share of a cap, in percent, from which on the ledger is near it. Forgetting for want of room leaves
	// it above.
	ledgerNear = 80
	// idsPerCell of 64 bytes is what the table in front of the ledger takes when it is full.
	idsPerCell = 7
)

// health judges the parts of an agent when somebody asks. It does nothing between two questions.
type health struct {
	spool engine
	links []*link.Link
	dir   string // of the spool
	// memoryCap and diskCap bound the ledger; 0 is not known.
	memoryCap, diskCap uint64
	disk, file         probe
	stopping           atomic.Bool
	firstEpoch         uint64

	mu         sync.Mutex // guards what is below
	epoch      uint64     // counter of the last epoch seen
	reopenedAt time.Time  // when another one was seen; zero if never
}

func newHealth(cfg *config.Config, store engine, links []*link.Link) *health {
	h := &health{
		spool:      store,
		links:      links,
		dir:        spoolDir(cfg),
		memoryCap:  uint64(cfg.LedgerMemoryBytes),
		diskCap:    cfg.LedgerMaxBytes,
		firstEpoch: store.Identity().Epoch.Counter,
	}
	h.epoch = h.firstEpoch
	h.disk = probe{fresh: diskFresh, try: func() error { return tryDisk(h.dir) }}
	// Looks at the file wait from a failed commit until it is open again.
	h.file = probe{try: func() error { _, err := store.Meta("health"); return err }}
	return h
}

// spoolDir is where the spool of an agent lies.
func spoolDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "spool") }

// close returns when nothing is tried any more. It waits for the disk, as closing the spool does.
func (h *health) close() {
	h.disk.close()
	h.file.close()
}

// part is the verdict on one part, and why no messages are taken because of it; empty if they are.
type part struct {
	api.HealthCheck
	unready string
}

// Health returns the agent's verdict on its parts. It takes at most a second.
func (a *Agent) Health() api.Health { return a.health.judge() }

func (h *health) judge() api.Health {
	parts := h.parts()
	if h.stopping.Load() {
		parts = append(parts, part{unready: "the agent was told to stop"})
	}
	var all api.Health
	var unwell []string
	for _, p := range parts {
		if p.unready != "" {
			all.Reasons = append(all.Reasons, p.unready)
		}
		if p.Name == "" {
			continue
		}
		all.Checks = append(all.Checks, p.HealthCheck)
		if !p.OK {
			unwell = append(unwell, p.Name)
		}
	}
	all.Ready = len(all.Reasons) == 0
	switch {
	case !all.Ready:
		all.Verdict = "takes no messages: " + strings.Join(all.Reasons, "; ")
	case len(unwell) > 0:
		all.Verdict = "takes messages; degraded: " + strings.Join(unwell, ", ")
	default:
		all.Verdict = "takes messages; all parts are well"
	}
	return all
}

// parts returns those that every agent has, then the links.
func (h *health) parts() []part {
	parts := h.own()
	for _, l := range h.links {
		parts = append(parts, part{HealthCheck: linkCheck(l.Status())})
	}
	return parts
}

// own returns the parts that every agent has.
func (h *health) own() []part {
	until := make(chan struct{})
	timer := time.AfterFunc(healthPatience, func() { close(until) })
	defer timer.Stop()
	disk, file := h.disk.ask(), h.file.ask() // both at once: their waits do not add up
	ledger := h.spool.LedgerStats()
	return []part{
		h.spoolPart(file.outcome(until)),
		h.diskPart(disk.outcome(until)),
		{HealthCheck: h.ledgerCheck(ledger)},
		{HealthCheck: clockCheck(ledger)},
	}
}

// spoolPart tells whether commits succeed.
func (h *health) spoolPart(silent time.Duration, err error) part {
	if failed := h.spool.Err(); failed != nil {
		err = failed
	}
	if err == nil && silent > 0 {
		err = fmt.Errorf("a commit has failed, and the spool has not opened its file again for %s", silent.Round(100*time.Millisecond))
	}
	if err != nil {
		return notReady("spool", err.Error())
	}
	if ago, ok := h.reopened(time.Now()); ok {
		return part{HealthCheck: api.HealthCheck{Name: "spool", Detail: fmt.Sprintf(
			"a commit has failed, seen %s ago; the spool is open again and commits are durable", ago.Round(time.Second))}}
	}
	return part{HealthCheck: api.HealthCheck{Name: "spool", OK: true, Detail: "commits are durable"}}
}

// reopened tells whether the spool opened its file again after a failed commit, and how long ago that was first seen: each
// opening has an epoch of its own.
func (h *health) reopened(now time.Time) (ago time.Duration, lately bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if epoch := h.spool.Identity().Epoch.Counter; epoch != h.epoch {
		h.epoch, h.reopenedAt = epoch, now
	}
	if h.reopenedAt.IsZero() {
		return 0, false
	}
	ago = now.Sub(h.reopenedAt)
	return ago, ago < reopenedShown
}

// reopenings counts how often the spool opened its file again since the agent opened it.
func (h *health) reopenings() uint64 { return h.spool.Identity().Epoch.Counter - h.firstEpoch }

// diskPart tells whether the disk takes what a commit writes.
func (h *health) diskPart(silent time.Duration, err error) part {
	switch {
	case err != nil:
		return notReady("disk", err.Error())
	case silent >= diskDead:
		return notReady("disk", fmt.Sprintf("the disk of %s has not finished a write for %s", h.dir, silent.Round(time.Second)))
	case silent > 0:
		return part{HealthCheck: api.HealthCheck{Name: "disk",
			Detail: fmt.Sprintf("the disk of %s is slow: a write has taken %s so far", h.dir, silent.Round(100*time.Millisecond))}}
	}
	free, _, err := diskSpace(h.dir)
	if err != nil {
		return part{HealthCheck: api.HealthCheck{Name: "disk", OK: true, Detail: "writes are synced"}}
	}
	check := api.HealthCheck{Name: "disk", OK: free >= lowDiskBytes, Detail: fmt.Sprintf("writes are synced; %d MiB are left", free>>20)}
	if !check.OK {
		check.Detail = fmt.Sprintf("only %d MiB are left on the disk of %s; make room before puts fail", free>>20, h.dir)
	}
	return part{HealthCheck: check}
}

func notReady(name, reason string) part {
	return part{api.HealthCheck{Name: name, Detail: reason}, name + ": " + reason}
}

// ledgerCheck tells whether every id is known for as long as it was promised, and will be.
func (h *health) ledgerCheck(l spool.LedgerStats) api.HealthCheck {
	sizes := fmt.Sprintf("%d bytes in memory, %d on disk", l.MemoryBytes, l.DiskBytes)
	switch {
	case l.EffectiveWindow < l.Window:
		return api.HealthCheck{Name: "ledger", Detail: fmt.Sprintf(
			"%d ids are remembered, every id for %s only of a window of %s; %s, %d ids forgotten early",
			l.IDs, shortDuration(l.EffectiveWindow), shortDuration(l.Window), sizes, l.ForgottenEarly)}
	case near(l.IDs*64/idsPerCell, h.memoryCap):
		return api.HealthCheck{Name: "ledger", Detail: fmt.Sprintf("%d ids are remembered, which is near what ledger_memory holds; %s", l.IDs, sizes)}
	case near(l.DiskBytes, h.diskCap):
		return api.HealthCheck{Name: "ledger", Detail: fmt.Sprintf("%d ids are remembered, which is near what ledger_max_bytes holds; %s", l.IDs, sizes)}
	}
	return api.HealthCheck{Name: "ledger", OK: true,
		Detail: fmt.Sprintf("%d ids are remembered for %s, %s", l.IDs, shortDuration(l.Window), sizes)}
}

// near tells whether something is about to reach its cap.
func near(size, limit uint64) bool { return limit > 0 && size >= limit/100*ledgerNear }

// clockCheck tells of a jump of time that somebody has to judge.
func clockCheck(l spool.LedgerStats) api.HealthCheck {
	check := api.HealthCheck{Name: "clock", OK: l.Jump == 0, Detail: "no jump of time waits to be accepted"}
	if !check.OK {
		check.Detail = fmt.Sprintf("time jumped by %s while the agent was stopped; nothing is forgotten for its age until \"clock accept\"",
			shortDuration(l.Jump))
	}
	return check
}

// linkCheck tells whether messages pass: the link is up, and neither side refuses one of its routes.
func linkCheck(st link.Status) api.HealthCheck {
	check := api.HealthCheck{Name: "link " + st.Name, OK: st.State == link.Up, Detail: fmt.Sprintf("%s: %s", st.State, st.Reason)}
	for _, s := range st.Sends {
		if check.OK && s.Held != "" {
			check.OK, check.Detail = false, fmt.Sprintf("route %s is held: %s", s.Name, s.Held)
		}
	}
	for _, r := range st.Receives {
		if check.OK && r.Refusal != "" {
			check.OK, check.Detail = false, fmt.Sprintf("nothing is taken into queue %s: %s", r.To, r.Refusal)
		}
	}
	return check
}
