package e2e_test

import (
	"path/filepath"
	"testing"
)

func TestExitCodesTellAScriptWhatHappened(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, args := range [][]string{{"put", "orders", "x"}, {"take", "orders"}, {"links"}, {"queues"}, {"health"}} {
		p.fra.requireCode(6, args...)
	}
	p.fra.start()
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"put", "orders", "x", "--id", "a"}},
		{0, []string{"put", "orders", "x", "--id", "a"}},     // a duplicate
		{4, []string{"put", "orders", "other", "--id", "a"}}, // the id is in use
		{4, []string{"put", "ordres", "x"}},                  // no such queue
		{4, []string{"take", "orders"}},                      // it leaves by a route
		{3, []string{"take", "refunds"}},                     // empty
		{3, []string{"queues", "ordres"}},                    // no such queue
		{3, []string{"links", "ncy"}},                        // no such link
		{4, []string{"ack", "not-a-receipt"}},
		{2, []string{"put", "orders"}}, // no body
		{2, []string{"put", "orders", "x", "--priority", "10"}},
		{2, []string{"take", "refunds", "--no-such-flag"}},
		{2, []string{"tkae", "refunds"}},
		{2, []string{"queues", "-o", "yaml"}},
		{1, []string{"identity", "show", "--data-dir", filepath.Join(p.fra.dir, "none")}},
	} {
		p.fra.requireCode(c.code, c.args...)
	}
}
