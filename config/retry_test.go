package config_test

import (
	"testing"
	"time"

	"drawbridge/spool"
)

func TestDeliveriesAndRetriesAreRead(t *testing.T) {
	for _, c := range []struct {
		queue string
		want  spool.QueueOptions
	}{
		{`{}`, spool.QueueOptions{}},
		{`{max_deliveries: 1}`, spool.QueueOptions{MaxDeliveries: 1}},
		{`{max_deliveries: 1000000}`, spool.QueueOptions{MaxDeliveries: 1_000_000}},
		{`{max_deliveries: unlimited}`, spool.QueueOptions{MaxDeliveries: spool.UnlimitedDeliveries}},
		{`{retry: none}`, spool.QueueOptions{Retry: spool.Retry{Kind: spool.RetryNone}}},
		{`{retry: fixed}`, spool.QueueOptions{Retry: spool.Retry{Kind: spool.RetryFixed}}},
		{`{retry: linear}`, spool.QueueOptions{Retry: spool.Retry{Kind: spool.RetryLinear}}},
		{`{retry: exponential}`, spool.QueueOptions{Retry: spool.Retry{Kind: spool.RetryExponential}}},
		{`{retry: {kind: fixed, first: 3s}}`, spool.QueueOptions{Retry: spool.Retry{Kind: spool.RetryFixed, First: 3 * time.Second}}},
		{`{retry: {first: 10m}}`, spool.QueueOptions{Retry: spool.Retry{First: 10 * time.Minute}}},
		{`{retry: {kind: exponential, first: 1s, max: 1d}}`, spool.QueueOptions{Retry: spool.Retry{First: time.Second, Max: 24 * time.Hour}}},
	} {
		got := good(t, "agent: a\nqueues: {orders: "+c.queue+"}\n").Queues["orders"]
		if got.MaxDeliveries != c.want.MaxDeliveries || got.Retry != c.want.Retry {
			t.Errorf("%s: %d deliveries, retry %+v; want %d, %+v", c.queue, got.MaxDeliveries, got.Retry, c.want.MaxDeliveries, c.want.Retry)
		}
	}
}

// A queue that says `retry: fixed` means one second each time, whatever the waits of the others.
func TestRetryOfAQueueReplacesTheInheritedOne(t *testing.T) {
	c := good(t, `agent: a
defaults: {max_deliveries: 9, retry: {kind: linear, first: 1m, max: 2h}}
queues:
  a:
  b: {retry: fixed}
  c: {retry: {max: 1h}}
`)
	for name, want := range map[string]spool.Retry{
		"a": {Kind: spool.RetryLinear, First: time.Minute, Max: 2 * time.Hour},
		"b": {Kind: spool.RetryFixed},
		"c": {Max: time.Hour},
	} {
		if got := c.Queues[name]; got.Retry != want || got.MaxDeliveries != 9 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWrongDeliveriesAndRetriesAreTold(t *testing.T) {
	const kinds = `want one of: none, fixed, linear, exponential`
	requireProblems(t, []badFile{
		{"deliveries that are no number", `agent: a
queues: {a: {max_deliveries: 0}, b: {max_deliveries: -1}, c: {max_deliveries: 1000001}, d: {max_deliveries: unlimitd}}`, []string{
			`2:30 queues.a.max_deliveries: "0" is not allowed, want a whole number from 1 to 1000000, or unlimited`,
			`2:54 queues.b.max_deliveries: "-1" is not allowed, want a whole number from 1 to 1000000, or unlimited`,
			`2:79 queues.c.max_deliveries: "1000001" is not allowed, want a whole number from 1 to 1000000, or unlimited`,
			`2:109 queues.d.max_deliveries: "unlimitd" is not allowed, want a whole number from 1 to 1000000, or unlimited -> unlimited`,
		}},
		{"unknown kinds", `agent: a
defaults: {retry: liner}
queues: {a: {retry: {kind: fibonacci}}}`, []string{
			`2:19 defaults.retry: "liner" is not allowed, ` + kinds + ` -> linear`,
			`3:28 queues.a.retry.kind: "fibonacci" is not allowed, ` + kinds,
		}},
		{"neither word nor mapping", `agent: a
queues: {a: {retry: [1s, 2s]}}
defaults:
  retry:`, []string{
			"2:21 queues.a.retry: want a word or a mapping such as `{ kind: exponential, first: 1s, max: 5m }`, got a list",
			`4:3 defaults.retry: has no value; give it one or remove the key`,
		}},
		{"keys and durations", `agent: a
queues: {a: {retry: {frist: 1s}}, b: {retry: {first: 5, max: 0s}}}`, []string{
			`2:22 queues.a.retry.frist: unknown key, allowed here: kind, first, max -> first`,
			`2:54 queues.b.retry.first: 5 has no unit, write 5s for seconds; units are w, d, h, m, s, ms`,
			`2:62 queues.b.retry.max: 0s is out of range, want 1ms to 5200w`,
		}},
		{"what changes nothing", `agent: a
queues:
  a: {retry: {kind: none, first: 1s}}
  b: {retry: {kind: fixed, first: 1s, max: 1m}}
  c: {retry: {first: 2h, max: 1h}}`, []string{
			"3:34 queues.a.retry.first: kind none does not wait: leave `first` out, or write another kind",
			"4:44 queues.b.retry.max: kind fixed has no waits that grow: leave `max` out, or write another kind",
			"5:22 queues.c.retry.first: 2h is longer than `max`, which is 1h",
		}},
	})
}
