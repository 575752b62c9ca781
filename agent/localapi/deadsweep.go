package localapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

const (
	// tellEvery is how often a client hears how far its call has come. A line may come one step late, and still within a second.
	tellEvery = 400 * time.Millisecond
	// maxDeadRate is more than any disk does.
	maxDeadRate = 1_000_000
)

// requeueDead gives dead letters another life, as fast as it can or at a rate.
func (s *Server) requeueDead(w http.ResponseWriter, r *http.Request) error {
	queue, err := s.deadOf(r)
	if err != nil {
		return err
	}
	o := readOptions(r.URL, append([]string{"dry_run", "rate"}, choiceOptions...)...)
	rate := o.number("rate", 0, 1, maxDeadRate)
	sw := &sweep{server: s, out: w, dead: message.DeadQueue(queue), pace: newPace(rate)}
	sw.act = func(ctx context.Context, sequences []uint64) ([]error, error) {
		return s.store.Requeue(ctx, queue, sequences)
	}
	sw.did = &sw.progress.Requeued
	return sw.answer(w, r, o)
}

// purgeDead removes dead letters for good.
func (s *Server) purgeDead(w http.ResponseWriter, r *http.Request) error {
	queue, err := s.deadOf(r)
	if err != nil {
		return err
	}
	o := readOptions(r.URL, append([]string{"dry_run"}, choiceOptions...)...)
	sw := &sweep{server: s, out: w, dead: message.DeadQueue(queue), pace: newPace(0)}
	sw.act = func(ctx context.Context, sequences []uint64) ([]error, error) {
		return s.store.Purge(ctx, sw.dead, sequences)
	}
	sw.did = &sw.progress.Purged
	return sw.answer(w, r, o)
}

// sweep is one call that does something to many dead letters and tells how far it has come. It may run for hours.
type sweep struct {
	server *Server
	out    http.ResponseWriter
	// dead is the queue of dead letters; act does to some of them what the call is for, did counts the successes.
	dead string
	act  func(ctx context.Context, sequences []uint64) ([]error, error)
	did  *uint64

	pace     pace
	progress api.DeadProgress
	begun    bool // the status is out
	toldAt   time.Time
}

// answer runs the sweep. What goes wrong once the status is out is told by the last line.
func (sw *sweep) answer(w http.ResponseWriter, r *http.Request, o *options) error {
	sw.progress.DryRun = o.yes("dry_run")
	chosen, err := readChoice(w, r, o)
	if err != nil {
		return err
	}
	sw.toldAt = time.Now()
	err = sw.run(r.Context(), &chosen)
	if err != nil && !sw.begun {
		return err
	}
	sw.progress.Finished = err == nil
	if err != nil {
		sw.progress.Code, sw.progress.Detail = codeOf(r.Method, err), err.Error()
	}
	sw.tell()
	return nil
}

// run counts first, which fixes how many it will be and where it ends: what dies from then on, perhaps a second time, is not
// touched.
func (sw *sweep) run(ctx context.Context, chosen *choice) error {
	through, err := sw.count(ctx, chosen)
	if err != nil || sw.progress.DryRun || sw.progress.Of == 0 {
		return err
	}
	sw.tell()
	var batch []uint64
	for l, err := range sw.server.look(ctx, sw.dead, chosen, through) {
		if err == nil {
			err = sw.goOn(ctx)
		}
		if err != nil {
			return err
		}
		if l.chosen {
			batch = append(batch, l.sequence)
		}
		if len(batch) == sw.pace.batch {
			if err := sw.do(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return sw.do(ctx, batch)
}

// count finds how many are chosen, why they died, and the last one's place.
func (sw *sweep) count(ctx context.Context, chosen *choice) (through uint64, err error) {
	p := &sw.progress
	p.ByReason = map[string]uint64{}
	for l, err := range sw.server.look(ctx, sw.dead, chosen, ^uint64(0)) {
		if err == nil {
			err = sw.goOn(ctx)
		}
		if err != nil {
			return 0, err
		}
		if !l.chosen {
			continue
		}
		p.Of++
		through = l.sequence
		if l.letter != nil {
			p.ByReason[string(deathOf(l.letter).Reason)]++
		}
		switch {
		case !p.DryRun:
		case l.letter == nil:
			sw.skip(api.SkipGone)
		case l.letter.Leased:
			sw.skip(api.SkipLeased)
		}
	}
	return through, nil
}

// do acts on one batch when its time has come.
func (sw *sweep) do(ctx context.Context, batch []uint64) error {
	if len(batch) == 0 {
		return nil
	}
	if err := sw.wait(ctx, sw.pace.next(time.Now(), len(batch))); err != nil {
		return err
	}
	outcomes, err := sw.act(ctx, batch)
	if err != nil {
		return err
	}
	for _, outcome := range outcomes {
		sw.progress.Done++
		switch {
		case outcome == nil:
			*sw.did++
		case errors.Is(outcome, spool.ErrNoMessage):
			sw.skip(api.SkipGone)
		case errors.Is(outcome, spool.ErrLeased):
			sw.skip(api.SkipLeased)
		case errors.Is(outcome, message.ErrCorrupt):
			sw.skip(api.SkipCorrupt)
		default:
			return fmt.Errorf("dead letter in %q: %w", sw.dead, outcome)
		}
	}
	return nil
}

func (sw *sweep) skip(why api.DeadSkip) {
	p := &sw.progress
	if p.SkippedFor == nil {
		p.SkippedFor = map[api.DeadSkip]uint64{}
	}
	p.Skipped++
	p.SkippedFor[why]++
}

// wait sleeps until a moment, telling meanwhile that the call goes on.
func (sw *sweep) wait(ctx context.Context, until time.Time) error {
	for {
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(min(left, tellEvery))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-sw.server.stopping:
		}
		timer.Stop()
		if err := sw.goOn(ctx); err != nil {
			return err
		}
	}
}

// goOn says why the sweep has to end, if it has to, and tells the client how far it is if that is due.
func (sw *sweep) goOn(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("the client went away: %w", err)
	}
	if sw.server.isStopping() {
		return fmt.Errorf("the agent is stopping: %w", spool.ErrClosed)
	}
	if time.Since(sw.toldAt) >= tellEvery {
		sw.tell()
	}
	return nil
}

// tell writes one line and lets nothing hold it back.
func (sw *sweep) tell() {
	var line bytes.Buffer
	if err := appendLines(&line, []api.DeadProgress{sw.progress}); err != nil {
		panic(err) // numbers and words always marshal
	}
	sw.begun, sw.toldAt = true, time.Now()
	sw.out.Header().Set("Content-Type", api.TypeNDJSON)
	_, _ = sw.out.Write(line.Bytes()) // a client that has gone ends the request's context
	_ = http.NewResponseController(sw.out).Flush()
}
