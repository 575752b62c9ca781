package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drawbridge/api"
)

func TestMessageThatThePeerRefusedArrivesOnceThePeerTakesIt(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	roomy, err := os.ReadFile(p.nyc.configPath)
	must(t, err)
	// The link takes as much as its largest queue, so that fra ships the crate and it is nyc that has to refuse it.
	p.nyc.configure(strings.NewReplacer(
		"orders: { visibility_timeout: 1s }", "orders: { visibility_timeout: 1s, max_message_bytes: 100B }\n  crates: {}",
		"receive: [{ to: orders }]", "receive: [{ to: orders }, { to: crates }]",
	).Replace(string(roomy)))
	p.start()

	crate := strings.Repeat("a large crate ", 20)
	p.fra.require("put", "orders", crate, "--id", "large", "--header", "city=Paris")
	p.fra.require("put", "orders", "a small crate", "--id", "small")
	p.nyc.requireTaken("orders", "a small crate\n") // the large one holds nobody up

	var count api.DeadCount
	eventually(t, upGrace, func() string {
		p.fra.runJSON(&count, "dead", "count", "orders")
		if count.Total != 1 {
			return fmt.Sprintf("fra has %d dead letters, want 1", count.Total)
		}
		return ""
	})
	if count.ByReason["too-large"] != 1 {
		t.Errorf("reasons: %v", count.ByReason)
	}
	words := fmt.Sprintf("body of %d bytes: the message is too large, the queue takes 100", len(crate))
	if list := p.fra.require("dead", "list", "orders"); !strings.Contains(list, words) {
		t.Errorf("the list does not say %q:\n%s", words, list)
	}
	var letter api.Peeked
	p.fra.runJSON(&letter, "dead", "show", "orders", "large")
	if letter.Text == nil || *letter.Text != crate || letter.Headers["city"] != "Paris" || letter.Death.Route == "" {
		t.Errorf("the letter: %+v", letter)
	}

	p.nyc.stop()
	p.nyc.configure(string(roomy))
	p.nyc.start()
	p.requireUp()
	if out := p.fra.require("dead", "requeue", "orders", "--reason", "too-large"); out != "requeued 1 of 1: 1 too-large\n" {
		t.Errorf("requeue: %q", out)
	}
	p.nyc.requireTaken("orders", crate+"\n")
	p.fra.requireCode(3, "dead", "list", "orders")
	eventually(t, 10*time.Second, func() string {
		if l := p.fra.link(); l.Sends[0].Queued != 0 {
			return fmt.Sprintf("fra holds %d orders still", l.Sends[0].Queued)
		}
		return ""
	})
}

func TestThePageOnDeadLettersDoesWhatItSays(t *testing.T) {
	t.Parallel()
	requirePage(t, filepath.Join("..", "docs", "dead-letters.md"), 3)
}
