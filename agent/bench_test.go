package agent_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/link/quic"
	"drawbridge/spool"
)

// BenchmarkAgentToAgent brings 1 KiB messages from one durable spool into another over loopback: A is preloaded, nobody
// consumes at B, and the clock runs from both agents' start until A has settled the last message.
func BenchmarkAgentToAgent(b *testing.B) {
	const messages = 50_000
	for b.Loop() {
		b.StopTimer()
		p := newBenchPair(b)
		p.preload(b, messages)
		b.StartTimer()
		started := time.Now()
		stop := p.run(b)
		for p.a.Spool().Stats()[0].Messages > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		took := time.Since(started)
		b.StopTimer()
		if got := p.b.Spool().Stats()[0].Messages; got != messages {
			b.Fatalf("%d messages arrived, %d were sent", got, messages)
		}
		stop()
		b.ReportMetric(messages/took.Seconds(), "messages/s")
		b.StartTimer()
	}
}

type benchPair struct {
	a, b *agent.Agent
}

func newBenchPair(b *testing.B) *benchPair {
	b.Helper()
	dirs := map[string]string{"a": b.TempDir(), "b": b.TempDir()}
	pins := make(map[string]link.Pin)
	for name, dir := range dirs {
		id, err := quic.CreateIdentity(agent.IdentityPath(dir))
		if err != nil {
			b.Fatal(err)
		}
		pins[name] = id.Pin()
	}
	sockets := make(map[string]net.PacketConn)
	for _, name := range []string{"a", "b"} {
		pc, err := quic.ListenUDP("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		sockets[name] = pc
	}
	open := func(name string, l config.Link) *agent.Agent {
		cfg := &config.Config{
			Agent:             name,
			DataDir:           dirs[name],
			Queues:            map[string]spool.QueueOptions{"orders": {}},
			Links:             map[string]config.Link{"peer": l},
			LedgerMemoryBytes: 64 << 20,
			ShutdownGrace:     time.Second,
		}
		a, err := agent.New(cfg, hclog.NewNullLogger(), agent.Host{ListenPacket: func(string) (net.PacketConn, error) { return sockets[name], nil }})
		if err != nil {
			b.Fatal(err)
		}
		return a
	}
	return &benchPair{
		a: open("a", config.Link{
			PeerIDs:   []link.Pin{pins["b"]},
			Addresses: []string{sockets["b"].LocalAddr().String()},
			Send:      []config.Send{{From: "orders", To: "orders", Name: "peer/orders"}},
		}),
		b: open("b", config.Link{PeerIDs: []link.Pin{pins["a"]}, Receive: []config.Receive{{To: "orders"}}}),
	}
}

func (p *benchPair) preload(b *testing.B, messages int) {
	b.Helper()
	body := bytes.Repeat([]byte("1 KiB of a body. "), 61)[:1024]
	puts := make([]spool.Put, 500)
	for stored := 0; stored < messages; stored += len(puts) {
		for i := range puts {
			puts[i] = spool.Put{Queue: "orders", Body: body}
		}
		if _, err := p.a.Spool().Put(context.Background(), puts); err != nil {
			b.Fatal(err)
		}
	}
}

func (p *benchPair) run(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	for _, a := range []*agent.Agent{p.a, p.b} {
		go func() { done <- a.Run(ctx) }()
	}
	return func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				b.Error(err)
			}
		}
	}
}
