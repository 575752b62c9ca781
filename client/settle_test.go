package client_test

import (
	"errors"
	"testing"
	"time"

	"drawbridge/api"
	"drawbridge/client"
)

// leaseAll leases what lies in a queue, which has to be n messages.
func leaseAll(t *testing.T, c *client.Client, queue string, n int) []client.Delivery {
	t.Helper()
	d, err := c.Lease(t.Context(), queue, client.Lease{Max: n + 1})
	if err != nil || len(d) != n {
		t.Fatalf("lease of %s: %d deliveries, want %d: %v", queue, len(d), n, err)
	}
	return d
}

func TestEveryReceiptHasItsResult(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c"} {
		if err := put(c, "orders", client.Message{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	d := leaseAll(t, c, "orders", 3)
	a, b, rest := d[0].Receipt, d[1].Receipt, d[2].Receipt

	nacked, err := c.Nack(ctx, client.Nack{Delay: time.Hour}, a, "none", a)
	requireResults(t, nacked, err,
		client.Settled{Receipt: a, Verdict: api.Nacked, WaitFor: time.Hour},
		client.Settled{Receipt: "none", Verdict: api.BadReceipt},
		client.Settled{Receipt: a, Verdict: api.AlreadySettled})
	extended, err := c.Extend(ctx, time.Hour, b, a)
	requireResults(t, extended, err,
		client.Settled{Receipt: b, Verdict: api.Extended, LeaseFor: time.Hour},
		client.Settled{Receipt: a, Verdict: api.AlreadySettled})
	extended, err = c.Extend(ctx, 0, b)
	requireResults(t, extended, err, client.Settled{Receipt: b, Verdict: api.Extended, LeaseFor: 30 * time.Second})
	buried, err := c.Bury(ctx, "no & use", b)
	requireResults(t, buried, err, client.Settled{Receipt: b, Verdict: api.Buried})
	nacked, err = c.Nack(ctx, client.Nack{}, rest)
	requireResults(t, nacked, err, client.Settled{Receipt: rest, Verdict: api.Nacked, WaitFor: time.Second})

	peeked, err := c.Peek(ctx, "orders", 0, 10)
	if err != nil || len(peeked) != 2 || !peeked[0].Waiting || peeked[0].Leased || peeked[0].Death != nil {
		t.Errorf("peek: %+v, %v", peeked, err)
	}
	if q, err := c.Queue(ctx, "orders"); err != nil || q.Waiting != 2 || q.Leased != 0 || q.Buried != 1 {
		t.Errorf("queue: %+v, %v", q, err)
	}
	dead, err := c.Lease(ctx, "orders.dead", client.Lease{}) // in its raw form
	if err != nil || len(dead) != 1 || dead[0].ID != "b" || dead[0].Death == nil || dead[0].Death.Text != "no & use" {
		t.Errorf("lease of the dead: %+v, %v", dead, err)
	}
}

func requireResults(t *testing.T, got []client.Settled, err error, want ...client.Settled) {
	t.Helper()
	if err != nil || len(got) != len(want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("receipt %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestGivenBackAtOnceUntilItDies(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	if err := put(c, "orders", client.Message{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for n := uint32(1); ; n++ {
		d := leaseAll(t, c, "orders", 1)[0]
		if d.Deliveries != n {
			t.Errorf("delivery %d says that it is number %d", n, d.Deliveries)
		}
		results, err := c.Nack(ctx, client.Nack{Delay: -1, Text: "it jams"}, d.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Verdict == api.Died {
			break
		}
		requireResults(t, results, err, client.Settled{Receipt: d.Receipt, Verdict: api.Nacked})
	}
	dead := leaseAll(t, c, "orders.dead", 1)[0]
	if dead.Death == nil || dead.Death.Deliveries != 5 || dead.Death.Reason != "max-deliveries" || dead.Death.Text != "it jams" {
		t.Errorf("%+v", dead.Death)
	}
}

func TestSettlementsOutOfBoundsAreRefused(t *testing.T) {
	c, _ := newAgent(t)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"far too long a wait": func() error { _, err := c.Nack(ctx, client.Nack{Delay: 1000 * time.Hour}, "r"); return err },
		"a lease of a year":   func() error { _, err := c.Extend(ctx, 8760*time.Hour, "r"); return err },
		"a lease of less":     func() error { _, err := c.Extend(ctx, -1, "r"); return err },
		"no receipt":          func() error { _, err := c.Bury(ctx, ""); return err },
	} {
		var answered *client.Error
		if err := call(); !errors.As(err, &answered) || !answered.Refused() {
			t.Errorf("%s: %v", name, err)
		}
	}
}
