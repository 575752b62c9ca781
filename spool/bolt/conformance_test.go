package bolt_test

import (
	"testing"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
	"drawbridge/spool/spooltest"
)

func TestConformance(t *testing.T) {
	spooltest.Run(t, spooltest.Engine{
		Open: func(dir string, o spooltest.Options) (spool.Store, error) {
			return bolt.Open(dir, bolt.Options{Agent: o.Agent, Queues: o.Queues, Now: o.Now})
		},
		Audit: requireFile,
	})
}
