package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/spool"
	"drawbridge/spool/memory"
)

// A consumer that cannot do its work gives the message back, and says for how long nobody need try.
func ExampleClient_Nack() {
	c, stop := exampleAgent()
	defer stop()
	ctx := context.Background()
	if _, err := c.Put(ctx, "orders", client.Message{ID: "order-1", Body: []byte("one crate")}); err != nil {
		log.Fatal(err)
	}

	deliveries, err := c.Lease(ctx, "orders", client.Lease{})
	if err != nil {
		log.Fatal(err)
	}
	results, err := c.Nack(ctx, client.Nack{Delay: 10 * time.Minute, Text: "the printer is out of paper"}, deliveries[0].Receipt)
	if err != nil {
		log.Fatal(err)
	}
	switch r := results[0]; r.Verdict {
	case api.Nacked:
		fmt.Println("it comes again in", r.WaitFor)
	case api.Died:
		fmt.Println("it was the last try: it is a dead letter now")
	default:
		fmt.Println("somebody else has it:", r.Verdict)
	}
	// Output: it comes again in 10m0s
}

// A consumer whose work takes long keeps its delivery, and learns until when.
func ExampleClient_Extend() {
	c, stop := exampleAgent()
	defer stop()
	ctx := context.Background()
	if _, err := c.Put(ctx, "orders", client.Message{ID: "order-1", Body: []byte("one crate")}); err != nil {
		log.Fatal(err)
	}

	deliveries, err := c.Lease(ctx, "orders", client.Lease{Visibility: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	results, err := c.Extend(ctx, 5*time.Minute, deliveries[0].Receipt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Verdict, "for", results[0].LeaseFor)
	// Output: extended for 5m0s
}

// A message that nobody can work on is set aside with the reason, and is found among the dead letters.
func ExampleClient_Bury() {
	c, stop := exampleAgent()
	defer stop()
	ctx := context.Background()
	if _, err := c.Put(ctx, "orders", client.Message{ID: "order-1", Body: []byte("one crate")}); err != nil {
		log.Fatal(err)
	}

	deliveries, err := c.Lease(ctx, "orders", client.Lease{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Bury(ctx, "no such street", deliveries[0].Receipt); err != nil {
		log.Fatal(err)
	}
	letters, err := c.DeadLetters(ctx, "orders", client.DeadFilter{}, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range letters {
		fmt.Printf("%s: %s, %s\n", l.ID, l.Death.Reason, l.Death.Text)
	}
	// Output: order-1: rejected, no such street
}

// The result of each receipt stands in its place. A repeated call does nothing twice, and says so.
func ExampleClient_Ack() {
	c, stop := exampleAgent()
	defer stop()
	ctx := context.Background()
	if _, err := c.Put(ctx, "orders", client.Message{ID: "order-1", Body: []byte("one crate")}); err != nil {
		log.Fatal(err)
	}

	deliveries, err := c.Lease(ctx, "orders", client.Lease{})
	if err != nil {
		log.Fatal(err)
	}
	receipt := deliveries[0].Receipt
	for range 2 {
		results, err := c.Ack(ctx, receipt, "no-receipt")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(results[0].Verdict, results[1].Verdict)
	}
	// Output:
	// acked bad-receipt
	// already-settled bad-receipt
}

// exampleAgent serves the real API over a spool in memory, as an agent does.
func exampleAgent() (c *client.Client, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	store, err := memory.Open(memory.Options{Agent: "fra-1", Queues: queues})
	if err != nil {
		log.Fatal(err)
	}
	socket := filepath.Join(dir, "api.sock")
	l, err := localapi.Listen(socket)
	if err != nil {
		log.Fatal(err)
	}
	server := localapi.New(store, localapi.Options{
		Agent: "fra-1",
		Queue: func(name string) (spool.QueueOptions, bool) { q, ok := queues[name]; return q, ok },
		Log:   hclog.NewNullLogger(),
	})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	c = client.New(socket)
	return c, func() {
		c.Close()
		end()
		if err := errors.Join(<-ended, store.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}
