package memory_test

import (
	"testing"

	"drawbridge/spool"
	"drawbridge/spool/memory"
	"drawbridge/spool/spooltest"
)

func TestConformance(t *testing.T) {
	spooltest.Run(t, spooltest.Engine{
		Open: func(_ string, o spooltest.Options) (spool.Store, error) {
			return memory.Open(memory.Options{Agent: o.Agent, Queues: o.Queues, Now: o.Now})
		},
	})
}
