package client_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/client"
	"drawbridge/spool"
)

// instant is a store that needs no time: what is measured is the way to it.
type instant struct {
	localapi.Store
	sequence atomic.Uint64
}

func (s *instant) Put(_ context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	results := make([]spool.PutResult, len(puts))
	for i, p := range puts {
		results[i] = spool.PutResult{ID: p.ID, Status: spool.Stored, Sequence: s.sequence.Add(1)}
	}
	return results, nil
}

// BenchmarkPut is the cost of client and local API for one message of 1 KiB from one of 64 callers, without a store.
func BenchmarkPut(b *testing.B) {
	socket := socketPath(b)
	l, err := localapi.Listen(socket)
	if err != nil {
		b.Fatal(err)
	}
	server := localapi.New(new(instant), localapi.Options{
		Queue: func(string) (spool.QueueOptions, bool) { return spool.QueueOptions{}, true },
		Log:   hclog.NewNullLogger(),
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	c := client.New(socket)
	body := make([]byte, 1<<10)
	var id atomic.Uint64
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Put(ctx, "orders", client.Message{ID: fmt.Sprint("m-", id.Add(1)), Body: body}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	c.Close()
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
