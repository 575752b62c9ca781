package agenttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"drawbridge/message"
	"drawbridge/message/history"
)

// drainWithin is how long, after all troubles, the last message may take to its consumer.
const drainWithin = 6 * time.Hour

// trial is whole agents that carry messages through all troubles that one seed draws.
type trial struct {
	t     *testing.T
	seed  uint64
	draws draws
	dir   string
	net   *Network
	log   *eventLog

	nights    []span
	nodes     []*node
	wires     []*wire
	producers []*producer
	consumers []*consumer
	operators []*operator
	// actors act until all is over; takers go on until all is drained.
	actors, takers sync.WaitGroup
	drained        atomic.Bool

	mu   sync.Mutex // guards seen
	seen []history.Sight
}

// Outcome is what a trial came to.
type Outcome struct {
	history.Findings
	// Stuck says what was not delivered when the troubles were long over; empty if all was.
	Stuck string
	// DeadLetters is how many were left.
	DeadLetters int
	// Bright is for how long of the trial the agents were meant to run.
	Bright time.Duration
	// Fingerprint names all events: two runs of a seed in which the same happened have the same one.
	Fingerprint string
	// Events are the last ones.
	Events string
}

// OK says that the trial found no fault, and that each message was delivered or is a dead letter with its reason.
func (o *Outcome) OK() bool { return o.Clean() && o.Stuck == "" && o.Waiting == 0 }

// Try runs one trial of the given virtual length in the present bubble: troubles, then fair weather until all is drained,
// then the judge.
func Try(t *testing.T, seed uint64, length time.Duration) Outcome {
	t.Helper()
	d := newDice(seed, "draws")
	dir := trialDir(t)
	tr := &trial{t: t, seed: seed, draws: drawDraws(d), log: newEventLog(dir), dir: dir}
	defer os.RemoveAll(tr.dir)
	tr.nights = drawNights(newDice(seed, "nights"), &tr.draws, length)
	tr.net = NewNetwork(seed, tr.draws.faults)
	tr.drawTopology(newDice(seed, "topology"))
	tr.pace(length)
	tr.log.add("draws", "%+v", tr.draws)
	over := make(chan struct{})
	tr.begin(over)
	time.Sleep(length)
	tr.log.add("trial", "the troubles end")
	close(over)
	tr.actors.Wait()
	stuck := tr.drain()
	tr.drained.Store(true)
	tr.takers.Wait()
	h := tr.history()
	for _, n := range tr.nodes {
		n.Stop()
	}
	tr.net.Close()
	dead := 0
	for _, c := range h.Left {
		if c.Reason != "" {
			dead++
		}
	}
	return Outcome{
		Findings: history.Judge(h), Stuck: stuck, DeadLetters: dead, Bright: tr.bright(length),
		Fingerprint: tr.log.fingerprint(), Events: tr.log.String(),
	}
}

// trialDir is in memory where there is such a place: there a sync takes no time, and so does not decide who runs first.
func trialDir(t *testing.T) string {
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "drawbridge-trial-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// directory makes the directory of a host.
func (t *trial) directory(host string) string {
	dir := filepath.Join(t.dir, host)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.t.Fatal(err)
	}
	return dir
}

func (t *trial) begin(over <-chan struct{}) {
	t.actors.Add(len(t.nodes) + len(t.wires) + len(t.producers) + len(t.operators))
	t.takers.Add(len(t.consumers))
	for _, n := range t.nodes {
		go n.live(over)
	}
	for _, w := range t.wires {
		go w.blow(over)
	}
	for _, p := range t.producers {
		go p.work(over)
	}
	for _, o := range t.operators {
		go o.work(over)
	}
	for _, c := range t.consumers {
		go c.work(over)
	}
}

func (t *trial) see(s history.Sight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, s)
}

// drain waits until no queue holds anything but dead letters, or says what is stuck.
func (t *trial) drain() (stuck string) {
	for waited := time.Duration(0); ; waited += 10 * time.Second {
		held := t.held()
		if held == "" {
			return ""
		}
		if waited >= drainWithin {
			t.log.add("trial", "stuck: %s", held)
			return held
		}
		time.Sleep(10 * time.Second)
	}
}

// held says which queues hold messages, and how their links are.
func (t *trial) held() (text string) {
	for _, n := range t.nodes {
		for _, q := range n.Spool().Stats() {
			if q.Messages > 0 && !isDead(q.Name) {
				text += fmt.Sprintf("%s/%s holds %d (%d leased, %d in doubt), links %v; ", n.name(), q.Name, q.Messages, q.Leased, q.InDoubt, n.Links())
			}
		}
	}
	return text
}

// history gathers what was heard and seen, what is left, and what the agents tell of it.
func (t *trial) history() history.History {
	h := history.History{Seen: t.seen}
	for _, p := range t.producers {
		h.Puts = append(h.Puts, p.puts...)
	}
	for _, o := range t.operators {
		h.Requeued = append(h.Requeued, o.requeued...)
	}
	for _, n := range t.nodes {
		for _, q := range n.Spool().Stats() {
			left := t.left(n, q.Name)
			h.Left = append(h.Left, left...)
			held := uint64(len(left))
			of := n.name() + "/" + q.Name
			h.Figures = append(h.Figures,
				history.Figure{Of: "messages of " + of, Says: q.Messages, Least: held, Most: held},
				history.Figure{Of: "leases of " + of, Says: q.Leased, Most: held},
				history.Figure{Of: "messages in doubt of " + of, Says: q.InDoubt, Most: held},
			)
		}
	}
	return h
}

// left returns what a queue holds.
func (t *trial) left(n *node, queue string) (copies []history.Copy) {
	for from := uint64(0); ; {
		page, err := n.Spool().Peek(context.Background(), queue, from, 500)
		if err != nil {
			t.t.Fatalf("look into %q of %s: %v", queue, n.name(), err)
		}
		if len(page) == 0 {
			return copies
		}
		for _, m := range page {
			c := history.Copy{ID: m.ID, Generation: m.Generation, Queue: n.name() + "/" + queue, Sequence: m.Sequence, Sum: history.SumOf(m.Body)}
			if m.Death != nil {
				c.Reason, c.Queue = m.Death.Reason, n.name()+"/"+m.Death.Queue
			}
			copies = append(copies, c)
		}
		from = page[len(page)-1].Sequence + 1
	}
}

func isDead(queue string) bool {
	return strings.HasSuffix(queue, message.DeadSuffix)
}
