package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/spool"
)

// maxGroupBytes bounds the payload of one commit: a transaction above some 16 MiB stalls everything for seconds.
const maxGroupBytes = 8 << 20

// op is one call that waits for a commit. Apply decides it inside the transaction and sees what the ops before it in the
// group did; its error is one of the infrastructure and fails the whole group. Apply must touch nothing of its caller's: the
// caller may have gone.
type op struct {
	bytes int
	apply func(*txn) error
	stage atomic.Int32
	done  chan error
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// intake is the ops that wait for the committer.
type intake struct {
	mu      sync.Mutex
	ops     []*op
	refusal error // why no more are taken
	wake    chan struct{}
}

func newIntake() *intake { return &intake{wake: make(chan struct{}, 1)} }

func (in *intake) add(o *op) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refusal != nil {
		return in.refusal
	}
	in.ops = append(in.ops, o)
	in.poke()
	return nil
}

func (in *intake) poke() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// take returns what waits, up to maxGroupBytes of payload and at least one op, without those whose callers have gone.
func (in *intake) take() (group []*op) {
	in.mu.Lock()
	defer in.mu.Unlock()
	bytes := 0
	for len(in.ops) > 0 && (len(group) == 0 || bytes+in.ops[0].bytes <= maxGroupBytes) {
		o := in.ops[0]
		in.ops = in.ops[1:]
		if o.stage.CompareAndSwap(waiting, taken) {
			bytes += o.bytes
			group = append(group, o)
		}
	}
	if len(in.ops) == 0 {
		in.ops = nil
	} else {
		in.poke()
	}
	return group
}

// refuse answers everything that waits, and whatever comes later, with err.
func (in *intake) refuse(err error) {
	in.mu.Lock()
	ops := in.ops
	in.ops = nil
	if in.refusal == nil {
		in.refusal = err
	}
	in.mu.Unlock()
	for _, o := range ops {
		o.done <- err
	}
}

// commit runs apply in the next transaction and returns when it is durable. If ctx ends first the outcome is unknown.
func (s *Store) commit(ctx context.Context, bytes int, apply func(*txn) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", spool.ErrUnknown, context.Cause(ctx))
	}
	o := &op{bytes: bytes, apply: apply, done: make(chan error, 1)}
	if err := s.intake.add(o); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		o.stage.CompareAndSwap(waiting, withdrawn)
		return fmt.Errorf("%w: %w", spool.ErrUnknown, context.Cause(ctx))
	}
}

// run is the committer. It alone writes the file and touches the memory; it ends with Close or when the store gives up.
func (s *Store) run() {
	defer close(s.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.setTimer(timer)
		select {
		case <-s.closing:
			return
		case <-s.intake.wake:
		case <-timer.C:
		}
		s.expire()
		if group := s.intake.take(); len(group) > 0 {
			if err := s.commitGroup(group); err != nil && !s.heal(err) {
				return
			}
		}
	}
}

// setTimer sets the timer to the moment at which the next lease runs out.
func (s *Store) setTimer(timer *time.Timer) {
	timer.Stop()
	if deadline, ok := s.memory.due.next(); ok {
		timer.Reset(duration(max(0, deadline-s.clock.now())))
	}
}

// expire ends the leases that have run out and tells those who wait for something ready.
func (s *Store) expire() {
	if ready := s.memory.due.expire(s.clock.now()); ready != nil {
		s.publish()
		s.watchers.fire(ready)
	}
}

// commitGroup brings a group into the file and answers it. An error means that the outcome of the whole group is unknown:
// its callers have been told so, and the memory may hold what the file does not.
func (s *Store) commitGroup(group []*op) error {
	err := s.tryGroup(group)
	if err == nil {
		return nil
	}
	s.closeReaders()
	unknown := fmt.Errorf("commit: %w: %w", spool.ErrUnknown, err)
	for _, o := range group {
		o.done <- unknown
	}
	return err
}

func (s *Store) tryGroup(group []*op) error {
	if err := s.options.pass(HookCommitBegin); err != nil {
		return err
	}
	// A panic of bbolt leaves the file in a state that nobody knows: it is not recovered, so that the process ends and the
	// next opening goes by what is durable.
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	t := s.newTxn(tx)
	if err := t.run(group); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := s.finishTx(t, tx); err != nil {
		return err
	}
	t.publish()
	for _, o := range group {
		o.done <- nil
	}
	s.watchers.fire(t.ready)
	return nil
}

// finishTx makes the transaction durable. One that changed nothing needs no commit: all that its group was told was durable
// before.
func (s *Store) finishTx(t *txn, tx *bbolt.Tx) error {
	if !t.changed {
		return tx.Rollback()
	}
	if err := s.options.pass(HookCommitApplied); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	s.chooseFreelist()
	if err := tx.Commit(); err != nil {
		return err
	}
	s.commits.Add(1)
	return s.options.pass(HookCommitDone)
}
