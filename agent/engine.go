package agent

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/config"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// openSpool is the one place that names an engine.
func openSpool(cfg *config.Config, log hclog.Logger, now func() time.Time) (spool.Store, error) {
	dir := filepath.Join(cfg.DataDir, "spool")
	store, err := bolt.Open(dir, bolt.Options{
		Agent:             cfg.Agent,
		Queues:            queueOptions(cfg),
		LedgerMemoryBytes: cfg.LedgerMemoryBytes,
		Log:               log.Named("spool"),
		Now:               now,
	})
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	return store, nil
}
