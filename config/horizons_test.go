package config_test

import (
	"strings"
	"testing"
	"time"

	"drawbridge/config"
)

func TestRoutesThatAFileWouldRefuseAreTold(t *testing.T) {
	c := good(t, `agent: a
ledger_max_window: 3d
queues: {orders: {dedupe: ids}, refunds: {}}
links: {nyc: {PEER_A, addresses: [h:1], receive: [{to: refunds}, {to: orders}]}}`)
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name      string
		announced config.Announced
		want      []string // parts of the one problem; nil for none
	}{
		{"fits", config.Announced{Peer: peerA, Queue: "orders", Horizon: 64 * time.Hour}, nil},
		{"too long", config.Announced{Peer: peerA, Queue: "orders", Horizon: 3 * day}, []string{"72h0m0s", "81h0m0s", "ledger_max_window"}},
		{"for ever", config.Announced{Peer: peerA, Queue: "orders"}, []string{"for ever", "72h0m0s", "retry_for"}},
		{"by numbers", config.Announced{Peer: peerA, Queue: "refunds"}, nil},
		{"a peer that the file does not know", config.Announced{Peer: peerB, Queue: "orders"}, nil},
		{"a queue that the file does not know", config.Announced{Peer: peerA, Queue: "gone"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems := c.Refusals("f.yaml", []config.Announced{tt.announced})
			if tt.want == nil {
				if len(problems) != 0 {
					t.Fatalf("got %v, want none", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Path != "links.nyc.receive[1].to" || problems[0].File != "f.yaml" {
				t.Fatalf("got %+v", problems)
			}
			for _, part := range tt.want {
				if !strings.Contains(problems[0].Text, part) {
					t.Errorf("%q is not in: %s", part, problems[0].Text)
				}
			}
		})
	}
}
