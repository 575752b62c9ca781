package agent

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"drawbridge/config"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// engine is what the agent needs of one.
type engine interface {
	spool.Store
	spool.Ledger
}

// openSpool is the one place that names an engine.
func openSpool(cfg *config.Config, log hclog.Logger, host Host) (engine, error) {
	dir := spoolDir(cfg)
	store, err := bolt.Open(dir, bolt.Options{
		Agent:             cfg.Agent,
		Queues:            queueOptions(cfg),
		LedgerMemoryBytes: cfg.LedgerMemoryBytes,
		LedgerMaxBytes:    cfg.LedgerMaxBytes,
		Log:               log.Named("spool"),
		Now:               host.Now,
		Hook:              host.Hook,
	})
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	return store, nil
}
