package config_test

import (
	"slices"
	"testing"
)

func TestQueuesOfEitherEngine(t *testing.T) {
	c := good(t, `agent: a
defaults: {engine: memory, dedupe: ids}
queues: {cache: {}, orders: {engine: bolt}, refunds: {engine: bolt, dedupe: numbers}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: orders, to: orders, retry_for: 1m}], receive: [{to: refunds}]}}`)
	if !slices.Equal(c.Volatile, []string{"cache"}) {
		t.Errorf("volatile: %v, want cache alone", c.Volatile)
	}
	if !c.Queues["orders"].ByIDs || c.Queues["refunds"].ByIDs {
		t.Errorf("by ids: %+v", c.Queues)
	}
}

func TestQueuesThatCannotKeepWhatLinksAskAreTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"a volatile queue with a route", `agent: a
queues: {cache: {engine: memory}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: cache, to: o}]}}`, []string{
			"2:26 queues.cache.engine: queue \"cache\" leaves by links.nyc.send[0].from in line 3: what a restart forgets cannot be carried, and no transaction spans two engines; write `engine: bolt`, or take that route out",
		}},
		{"a volatile queue that a peer ships into, by defaults", `agent: a
defaults: {engine: memory}
queues: {cache: {}, orders: {engine: bolt}}
links: {nyc: {PEER_A, addresses: [h:1], receive: [{to: orders}, {to: cache}]}}`, []string{
			"2:20 defaults.engine: queue \"cache\" is shipped into by links.nyc.receive[1].to in line 4: a peer must not be told `accepted` for what a restart forgets; write `engine: bolt`, or take that right away",
		}},
		{"a volatile queue that goes by ids", `agent: a
queues: {cache: {engine: memory, dedupe: ids}}`, []string{
			"2:42 queues.cache.dedupe: queue \"cache\" is volatile: nothing arrives there from a peer, so `ids` would judge nothing; leave it out",
		}},
		{"ids at the wrong side", `agent: a
queues: {orders: {dedupe: ids}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: orders, to: all-orders}]}}`, []string{
			"2:27 queues.orders.dedupe: queue \"orders\" leaves by links.nyc.send[0].from in line 3, and no `receive` names it: nothing arrives that `ids` could judge; write it for queue \"all-orders\" at the peer",
		}},
		{"words", `agent: a
queues: {orders: {dedupe: id, engine: redis}}
ledger_max_window: 59m`, []string{
			`2:27 queues.orders.dedupe: "id" is not allowed, want one of: numbers, ids -> ids`,
			`2:39 queues.orders.engine: "redis" is not allowed, want one of: bolt, memory`,
			`3:20 ledger_max_window: 59m is out of range, want 1h to 5200w`,
		}},
		{"a horizon shorter than an outage", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: o, retry_for: 59s}]}}`, []string{
			`3:143 links.nyc.send[0].retry_for: 59s is out of range, want 1m to 5200w`,
		}},
	})
}
