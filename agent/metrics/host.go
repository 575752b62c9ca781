package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"drawbridge/spool"
)

// ledgerFamilies tell of the ids that are remembered, and of the clock by which they are forgotten.
type ledgerFamilies struct {
	ids, promised, memory, memoryCap, disk, diskCap, window, effective, early, jump family
}

func newLedgerFamilies() ledgerFamilies {
	return ledgerFamilies{
		ids:       gauge("ledger_ids", "Ids that are remembered."),
		promised:  gauge("ledger_promised_ids", "Ids that are remembered for their whole window, whatever the caps."),
		memory:    gauge("ledger_memory_bytes", "Memory of the table of ids."),
		memoryCap: gauge("ledger_memory_limit_bytes", "The cap of that memory, ledger_memory."),
		disk:      gauge("ledger_disk_bytes", "Bytes of the ledger's rows in the spool."),
		diskCap:   gauge("ledger_disk_limit_bytes", "The cap of those bytes, ledger_max_bytes."),
		window:    gauge("ledger_window_seconds", "How long an id is to be known."),
		effective: gauge("ledger_effective_window_seconds", "For how long every id is known now."),
		early:     counter("ledger_forgotten_early_total", "Ids that were forgotten for want of room."),
		jump:      gauge("clock_jump_seconds", "By how much time jumped while the agent was stopped, until it is accepted; 0 without such a jump."),
	}
}

func (f ledgerFamilies) collect(l spool.LedgerStats, memoryCap, diskCap uint64, out chan<- prometheus.Metric) {
	out <- f.ids.sample(float64(l.IDs))
	out <- f.promised.sample(float64(l.PromisedIDs))
	out <- f.memory.sample(float64(l.MemoryBytes))
	out <- f.memoryCap.sample(float64(memoryCap))
	out <- f.disk.sample(float64(l.DiskBytes))
	out <- f.diskCap.sample(float64(diskCap))
	out <- f.window.sample(l.Window.Seconds())
	out <- f.effective.sample(l.EffectiveWindow.Seconds())
	out <- f.early.sample(float64(l.ForgottenEarly))
	out <- f.jump.sample(l.Jump.Seconds())
}

// spoolFamilies tell of the spool's file.
type spoolFamilies struct {
	commits, reopened, file, free, disk family
}

func newSpoolFamilies() spoolFamilies {
	return spoolFamilies{
		commits:  counter("spool_commits_total", "Transactions that were committed."),
		reopened: counter("spool_reopened_total", "Times that the spool opened its file again after a commit that failed."),
		file:     gauge("spool_file_bytes", "Size of the spool's file, free pages included."),
		free:     gauge("disk_free_bytes", "What the disk of the spool has left for the agent."),
		disk:     gauge("disk_size_bytes", "Size of the disk of the spool."),
	}
}

func (f spoolFamilies) collect(s Spool, out chan<- prometheus.Metric) {
	out <- f.commits.sample(float64(s.Commits))
	out <- f.reopened.sample(float64(s.Reopened))
	out <- f.file.sample(float64(s.FileBytes))
	if s.DiskBytes > 0 {
		out <- f.free.sample(float64(s.DiskFreeBytes))
		out <- f.disk.sample(float64(s.DiskBytes))
	}
}

// agentFamilies tell of the agent as a whole.
type agentFamilies struct {
	build, ready, part family
}

func newAgentFamilies() agentFamilies {
	return agentFamilies{
		build: gauge("build_info", "Always 1; its labels say who tells.", "agent", "version", "goversion"),
		ready: gauge("ready", "1 while the agent takes messages, else 0."),
		part:  gauge("part_ok", "1 while a part of the agent is well, else 0; /health says why.", "part"),
	}
}

func (f agentFamilies) collect(s Source, out chan<- prometheus.Metric) {
	out <- f.build.sample(1, s.Agent, s.Version, runtime.Version())
	health := s.Health()
	out <- f.ready.sample(truth(health.Ready))
	for _, p := range health.Parts {
		out <- f.part.sample(truth(p.OK), p.Name)
	}
}
