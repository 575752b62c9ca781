package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// tripwire is a hook that fails once, at the nth passing of a point after it was armed.
type tripwire struct {
	point string
	armed atomic.Int32
	hits  atomic.Int32
}

var errTripped = errors.New("the disk says no")

func (w *tripwire) hook(point string) error {
	if point == w.point && w.armed.Load() > 0 && w.armed.Add(-1) == 0 {
		w.hits.Add(1)
		return errTripped
	}
	return nil
}

// TestCommitThatFailed fails a commit at each of its steps while a put, an arrival, a lease and a settlement are in it. The
// callers hear that the outcome is unknown, the store goes on by itself in a new epoch, and repeating the calls does no harm.
func TestCommitThatFailed(t *testing.T) {
	for _, point := range []string{bolt.HookCommitBegin, bolt.HookCommitApplied, bolt.HookCommitDone} {
		t.Run(point, func(t *testing.T) {
			wire := &tripwire{point: point}
			o := orders()
			o.Hook = wire.hook
			r := openReceiver(t, o)
			r.store("orders", "before")
			first := r.lease(1)
			epoch := r.Identity().Epoch
			ready, stop := r.Watch("orders")
			defer stop()
			for len(ready) > 0 {
				<-ready
			}

			wire.armed.Store(1)
			p := spool.Put{Queue: "orders", ID: "during", Priority: lane, Body: []byte("during")}
			if _, err := r.Put(context.Background(), []spool.Put{p}); !errors.Is(err, spool.ErrUnknown) || !errors.Is(err, errTripped) {
				t.Fatalf("put: %v", err)
			}
			<-ready
			stored := point == bolt.HookCommitDone // then the commit reported an error and is in the file all the same
			want := spool.Stored
			if stored {
				want = spool.Duplicate
			}
			if got := r.put(p)[0]; got.Status != want || got.Sequence != 2 {
				t.Errorf("put again: %+v, want status %d", got, want)
			}
			if e := r.Identity(); e.Previous != epoch || e.Epoch.Counter != epoch.Counter+1 {
				t.Errorf("identity %+v after epoch %s", e, epoch)
			}

			arrival := shipment(1, message.Place{}, "shipped", "x")
			in := spool.Arrivals{Peer: "nyc", Session: r.session, Queue: "orders", Stream: r.stream, Messages: []spool.Arrival{arrival}}
			if _, err := r.Accept(context.Background(), in); !errors.Is(err, spool.ErrSessionEnded) {
				t.Errorf("frame of a session of the epoch before: %v", err)
			}
			r.begin()
			wire.armed.Store(1)
			in.Session = r.session
			if _, err := r.Accept(context.Background(), in); !errors.Is(err, spool.ErrUnknown) {
				t.Fatalf("accept: %v", err)
			}
			r.begin()
			if stored {
				r.require(in.Messages, duplicate)
			} else {
				r.require(in.Messages, accepted)
			}

			wire.armed.Store(1)
			if _, err := r.Ack(context.Background(), receiptsOf(first)); !errors.Is(err, spool.ErrUnknown) {
				t.Fatalf("ack: %v", err)
			}
			answer := r.ack(first[0].Receipt)[0]
			if stored != errors.Is(answer, spool.ErrStaleReceipt) {
				t.Errorf("ack again: %v", answer)
			}
			wire.armed.Store(1)
			if _, err := r.Lease(context.Background(), spool.LeaseRequest{Queue: "orders"}); !errors.Is(err, spool.ErrUnknown) {
				t.Fatalf("lease: %v", err)
			}
			left := idsOf(r.lease(9))
			if stored {
				requireEqual(t, "leased", left, []string{"shipped"})
			} else {
				requireEqual(t, "leased", left, []string{"during", "shipped"})
			}
			if q := r.stats("orders"); q.Messages != 2 || q.Leased != 2 {
				t.Errorf("stats: %+v", q)
			}
			if wire.hits.Load() != 4 {
				t.Errorf("the hook failed %d commits", wire.hits.Load())
			}
		})
	}
}

// TestEveryWaiterOfAFailedCommitIsTold lets many callers share the commit that fails.
func TestEveryWaiterOfAFailedCommitIsTold(t *testing.T) {
	o := orders()
	wire := &tripwire{point: bolt.HookCommitApplied}
	gate := make(chan struct{})
	began := make(chan struct{}, 1)
	var slow atomic.Bool
	o.Hook = func(point string) error {
		if point == bolt.HookCommitBegin && slow.CompareAndSwap(true, false) {
			began <- struct{}{}
			<-gate
		}
		return wire.hook(point)
	}
	s := openTemp(t, o)
	slow.Store(true)
	errs := make(chan error, 33)
	put := func(i int) {
		_, err := s.Put(context.Background(), []spool.Put{{Queue: "orders", ID: fmt.Sprint(i)}})
		errs <- err
	}
	go put(0)
	<-began
	for i := range 32 {
		go put(i + 1)
	}
	for bolt.Waiting(s.Store) < 32 {
		time.Sleep(time.Millisecond)
	}
	wire.armed.Store(2)
	close(gate)
	unknown := 0
	for range 33 {
		if err := <-errs; errors.Is(err, spool.ErrUnknown) {
			unknown++
		} else if err != nil {
			t.Errorf("got %v", err)
		}
	}
	if n := s.stats("orders").Messages; unknown != 32 || n != 1 {
		t.Errorf("%d callers were told that the outcome is unknown, %d messages", unknown, n)
	}
}

// TestStoreThatCannotReopenGivesUp fails every attempt.
func TestStoreThatCannotReopenGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		attempts := 0
		o := orders()
		o.Hook = func(point string) error {
			if !broken.Load() {
				return nil
			}
			if point == bolt.HookReopen {
				attempts++
			}
			if point == bolt.HookReopen || point == bolt.HookCommitApplied {
				return errTripped
			}
			return nil
		}
		s := openTemp(t, o)
		s.store("orders", "a")
		broken.Store(true)
		if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders"}}); !errors.Is(err, spool.ErrUnknown) {
			t.Errorf("put: %v", err)
		}
		if err := s.Err(); err != nil {
			t.Errorf("it gave up at once: %v", err)
		}
		_, waited := s.Peek(context.Background(), "orders", 0, 1)
		<-s.Failed()
		if err := s.Err(); !errors.Is(err, errTripped) || !errors.Is(err, spool.ErrUnknown) || waited != err && !errors.Is(waited, err) {
			t.Errorf("it failed with %v, a reader with %v", err, waited)
		}
		if attempts < 3 {
			t.Errorf("%d attempts", attempts)
		}
		if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders"}}); !errors.Is(err, errTripped) {
			t.Errorf("put later: %v", err)
		}
		if n := s.stats("orders").Messages; n != 1 {
			t.Errorf("stats say %d", n)
		}
		s.close()
		broken.Store(false)
		again := open(t, s.dir, o)
		requireEqual(t, "leased", idsOf(again.lease(9)), []string{"a"})
		again.close()
	})
}

// TestStoreThatReopensAtALaterAttempt also closes one that waits for its next attempt.
func TestStoreThatReopensAtALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 2
		commits := &tripwire{point: bolt.HookCommitApplied}
		o := orders()
		o.Hook = func(point string) error {
			if point == bolt.HookReopen && failures > 0 {
				failures--
				return errTripped
			}
			return commits.hook(point)
		}
		s := openTemp(t, o)
		s.store("orders", "a")
		commits.armed.Store(1)
		if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders"}}); !errors.Is(err, spool.ErrUnknown) {
			t.Errorf("put: %v", err)
		}
		requireEqual(t, "leased", idsOf(s.lease(9)), []string{"a"})
		failures = 100
		commits.armed.Store(1)
		if _, err := s.Put(context.Background(), []spool.Put{{Queue: "orders"}}); !errors.Is(err, spool.ErrUnknown) {
			t.Errorf("put: %v", err)
		}
		s.close()
	})
}

const (
	victimDir   = "DRAWBRIDGE_TEST_VICTIM_DIR"
	victimPoint = "DRAWBRIDGE_TEST_VICTIM_POINT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		fmt.Fprintln(os.Stderr, victim(dir, os.Getenv(victimPoint)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victim is the process that the test below kills: it stores, leases, acks, accepts and marks, says on its standard output
// what it was answered, and kills itself at a hook point.
func victim(dir, point string) error {
	passed, commits := 0, 0
	o := orders()
	o.Queues["out"] = spool.QueueOptions{Route: "nyc"}
	o.Hook = func(p string) error {
		if p == point {
			if passed++; passed == 12 || !strings.HasPrefix(p, "commit.") {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		if p == bolt.HookCommitApplied {
			commits++
		}
		if point == bolt.HookReopen && commits == 12 {
			return errTripped
		}
		return nil
	}
	ctx := context.Background()
	s, err := bolt.Open(dir, o)
	if err != nil {
		return err
	}
	session := message.NewSessionID()
	if _, err := s.BeginSession(ctx, "nyc", session); err != nil {
		return err
	}
	stream := message.StreamID{7}
	for i := uint64(1); ; i++ {
		id := fmt.Sprint("put-", i)
		if r, err := s.Put(ctx, []spool.Put{
			{Queue: "orders", ID: id, Priority: lane, Body: []byte(id)},
			{Queue: "out", ID: id, Priority: lane, Body: []byte(id)},
		}); err == nil && r[0].Status == spool.Stored {
			fmt.Println("stored", id)
		}
		in := spool.Arrivals{Peer: "nyc", Session: session, Queue: "orders", Stream: stream, Messages: []spool.Arrival{
			shipment(i, message.Place{}, fmt.Sprint("shipped-", i), "x"),
		}}
		if d, err := s.Accept(ctx, in); err == nil && d[0].Verdict == message.Accepted {
			fmt.Println("accepted", i)
		}
		if i%2 == 0 {
			d, err := s.Lease(ctx, spool.LeaseRequest{Queue: "orders"})
			if errors.Is(err, spool.ErrUnknown) {
				continue // and wait for the file to be opened again
			}
			if err != nil || len(d) == 0 {
				return fmt.Errorf("leased %d messages: %w", len(d), err)
			}
			fmt.Println("leased", d[0].ID)
			if a, err := s.Ack(ctx, receiptsOf(d)); err == nil && a[0] == nil {
				fmt.Println("acked", d[0].ID)
			}
			if err := s.Mark(ctx, spool.Route{Queue: "out", Name: "nyc"}, lane, i); err == nil {
				fmt.Println("marked", i)
			}
		}
		if point == bolt.HookCloseBegin && i == 20 {
			return s.Close()
		}
	}
}

// TestProcessIsKilledAtEachPoint compares what a killed process was answered with what the next opening finds.
func TestProcessIsKilledAtEachPoint(t *testing.T) {
	for _, point := range bolt.HookPoints() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			said := runVictim(t, dir, point)
			o := orders()
			o.Queues["out"] = spool.QueueOptions{Route: "nyc"}
			r := &receiver{opened: open(t, dir, o), stream: message.StreamID{7}}
			r.begin()
			requireAnswersHold(t, r, said)
			if strings.HasPrefix(point, "commit.") && len(said["stored"]) == 0 {
				t.Error("it was killed before it had stored anything")
			}
		})
	}
}

// runVictim returns what the victim said, by word.
func runVictim(t *testing.T, dir, point string) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimPoint+"="+point)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the victim ended with %v: %s", err, out)
	}
	said := make(map[string][]string)
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if word, rest, ok := strings.Cut(lines.Text(), " "); ok {
			said[word] = append(said[word], rest)
		}
	}
	return said
}

func requireAnswersHold(t *testing.T, r *receiver, said map[string][]string) {
	t.Helper()
	live := make(map[string]bool)
	for _, p := range r.peek("orders", 0, 1000) {
		if live[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		live[p.ID] = true
	}
	for _, id := range said["stored"] {
		if acked := slices.Contains(said["acked"], id); !live[id] && !acked && !slices.Contains(said["leased"], id) {
			t.Errorf("%s was stored and is lost", id)
		} else if live[id] && acked {
			t.Errorf("%s was acked and is back", id)
		}
		for _, queue := range []string{"orders", "out"} {
			if again := r.put(spool.Put{Queue: queue, ID: id, Priority: lane, Body: []byte(id)})[0]; again.Status != spool.Duplicate {
				t.Errorf("%s was stored, put again: %+v", id, again)
			}
		}
	}
	if out := r.held(nyc, 0, 1); len(out) != 0 {
		t.Errorf("held %+v under another queue's route", out)
	}
	if n := r.stats("out").Messages; n < uint64(len(said["stored"])) {
		t.Errorf("%d messages to be shipped, %d were stored", n, len(said["stored"]))
	}
	for _, number := range said["accepted"] {
		var n uint64
		fmt.Sscan(number, &n)
		if f := r.Frontier(r.stream, "orders"); f < n {
			t.Errorf("frontier %d, number %d was accepted", f, n)
		}
		if d := r.acceptFrom(r.stream, shipment(n, message.Place{}, "shipped-"+number, "x")); d[0].Verdict != duplicate {
			t.Errorf("number %d was accepted, again: %+v", n, d[0])
		}
	}
	for _, number := range said["marked"] {
		var n uint64
		fmt.Sscan(number, &n)
		if m := r.MarkOf(spool.Route{Queue: "out", Name: "nyc"}, lane); m < n {
			t.Errorf("mark %d, %d was marked", m, n)
		}
	}
}
