package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"

	"drawbridge/config"
	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
	"drawbridge/spool/memory"
	"drawbridge/spool/split"
)

// engine is what the agent needs of one.
type engine interface {
	spool.Store
	spool.Ledger
}

// openSpool is the one place that names engines.
func openSpool(cfg *config.Config, log hclog.Logger, host Host) (engine, error) {
	dir := spoolDir(cfg)
	queues := queueOptions(cfg)
	volatile := make(map[string]spool.QueueOptions, len(cfg.Volatile))
	for _, name := range cfg.Volatile {
		volatile[name] = queues[name]
		delete(queues, name)
	}
	durable, err := bolt.Open(dir, bolt.Options{
		Agent:             cfg.Agent,
		Queues:            queues,
		LedgerMemoryBytes: cfg.LedgerMemoryBytes,
		LedgerMaxBytes:    cfg.LedgerMaxBytes,
		Log:               log.Named("spool"),
		Now:               host.Now,
		Hook:              host.Hook,
	})
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	if len(volatile) == 0 {
		return durable, nil
	}
	if err := refuseStranded(durable.Stats(), volatile); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", dir, err), durable.Close())
	}
	inMemory, err := memory.Open(memory.Options{Agent: cfg.Agent, Queues: volatile, Now: host.Now})
	if err != nil {
		return nil, errors.Join(err, durable.Close())
	}
	return split.New(durable, inMemory, cfg.Volatile), nil
}

// refuseStranded refuses to make queues volatile while the file holds messages of them: nobody could get at those.
func refuseStranded(held []spool.QueueStats, volatile map[string]spool.QueueOptions) error {
	messages := make(map[string]uint64, len(held))
	for _, q := range held {
		messages[q.Name] = q.Messages
	}
	var all error
	for _, name := range slices.Sorted(maps.Keys(volatile)) {
		for _, lies := range []string{name, message.DeadQueue(name)} {
			if n := messages[lies]; n > 0 {
				all = errors.Join(all, fmt.Errorf("queue %q has `engine: memory` now, and the file still holds %d messages of %q: start with `engine: bolt` for it and take them first", name, n, lies))
			}
		}
	}
	return all
}
