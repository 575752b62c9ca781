package link

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/protocol"
	"drawbridge/spool"
)

const (
	// decideBytes bounds what is decided in one transaction.
	decideBytes = 4 << 20
	// arrivalBytes is what an arrival costs beside its record: a peer may ship records of no bytes at all.
	arrivalBytes = 512
	// maxGranted bounds the streams whose credit is remembered. A peer that uses more is told its credit more often.
	maxGranted = 1024
)

// receiver is the receiving half of one route in one session: it puts batches that overtook each other back in order and
// offers them to the spool, which alone decides. It always takes what comes; over its budget it drops the highest numbers,
// which the sender ships again.
type receiver struct {
	Receive
	s     *session
	tally *tally
	wake  chan struct{} // holds at most one value: something may be decidable now

	mu      sync.Mutex // guards what follows; never held over I/O
	refusal error      // why nothing is taken on this route
	resumed bool
	asked   time.Duration               // the window that the sender's horizon asks for, until it is stored
	widest  time.Duration               // of the windows that the sender's routes into this queue ask for
	pending []*arrival                  // by number, and each number of a stream once
	bytes   int                         // of pending, with arrivalBytes each
	granted map[message.StreamID]uint64 // the highest number a Credit has named
	floors  map[message.StreamID]uint64 // below which the sender has ended all numbers, not noted yet
}

// arrival is a shipped message, or the Close of one, that is not decided yet. Its Age is as of at.
type arrival struct {
	stream message.StreamID
	at     time.Time
	bytes  int
	spool.Arrival
}

func newReceiver(s *session, in Receive) *receiver {
	return &receiver{
		s:       s,
		Receive: in,
		tally:   s.link.tallies["receive "+in.To],
		wake:    make(chan struct{}, 1),
		granted: make(map[message.StreamID]uint64),
		floors:  make(map[message.StreamID]uint64),
	}
}

// arrive takes a batch of shipped messages.
func (s *session) arrive(f *protocol.Ship) {
	r := s.receiverOf(f.Session, f.Queue, f.Stream)
	if r == nil {
		return
	}
	now := time.Now()
	batch := make([]*arrival, len(f.Items))
	for i, item := range f.Items {
		m, err := message.ParseRecord(item.Record)
		if err != nil {
			m = message.Message{}
		}
		// A body of its own: else one small message that waits would keep the memory of the whole batch.
		m.Body = bytes.Clone(m.Body)
		batch[i] = &arrival{stream: f.Stream, at: now, bytes: len(item.Record) + arrivalBytes, Arrival: spool.Arrival{
			Number: item.Number, Prev: item.Prev, Age: item.Age, Again: item.Again, Unreadable: err, Message: m,
		}}
	}
	r.take(batch)
}

// arriveClose takes a batch of Closes. Each waits in the place of its message, and for the same prev.
func (s *session) arriveClose(f *protocol.Close) {
	r := s.receiverOf(f.Session, f.Queue, f.Stream)
	if r == nil {
		return
	}
	now := time.Now()
	batch := make([]*arrival, len(f.Items))
	for i, item := range f.Items {
		batch[i] = &arrival{stream: f.Stream, at: now, bytes: arrivalBytes, Arrival: spool.Arrival{
			Number: item.Number, Prev: item.Prev, Age: item.Age,
			Close: &spool.Close{Name: item.Name, Sum: item.Sum, Reason: item.Reason},
		}}
	}
	r.take(batch)
}

// receiverOf returns who takes a batch, nil if it is to be dropped. One of another session is dropped in silence: whatever it
// says was true in a session that has ended.
func (s *session) receiverOf(session message.SessionID, queue string, stream message.StreamID) *receiver {
	if session != s.id {
		return nil
	}
	r, ok := s.receivers[queue]
	if !ok {
		s.refuseRoute(queue, stream, protocol.CodeNoRight,
			fmt.Sprintf("agent %q does not list queue %q under receive of its link %q", s.link.o.Agent, queue, s.link.o.Name))
		return nil
	}
	if refusal := r.refused(); refusal != nil {
		s.refuseRoute(queue, stream, protocol.CodeHorizon, refusal.Error())
		return nil
	}
	return r
}

func (s *session) refuseRoute(queue string, stream message.StreamID, code protocol.Code, text string) {
	s.send(&protocol.Refused{Answer: s.answer(queue, stream), Scope: protocol.ScopeRoute, Code: code, Text: text})
}

func (s *session) answer(queue string, stream message.StreamID) protocol.Answer {
	return protocol.Answer{Session: s.id, Spool: s.own.Spool, Epoch: s.own.Epoch, Queue: queue, Stream: stream}
}

// take files a batch among what is pending. A copy of a number replaces the one before: its prev is the newer truth.
func (r *receiver) take(batch []*arrival) {
	defer notify(r.wake)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file(batch)
	budget := 2 * int(r.s.link.o.CreditBytes+arrivalBytes*r.s.link.o.CreditMessages)
	for last := len(r.pending) - 1; r.bytes > budget && last > 0; last-- {
		r.bytes -= r.pending[last].bytes
		r.pending[last] = nil
		r.pending = r.pending[:last]
	}
}

// file puts arrivals of rising numbers in their places: as one block if their place is free, as for a batch that overtook
// another, else one by one.
func (r *receiver) file(batch []*arrival) {
	if len(batch) == 0 {
		return
	}
	at := r.search(batch[0].Number)
	if at == len(r.pending) || r.pending[at].Number > batch[len(batch)-1].Number {
		r.pending = slices.Insert(r.pending, at, batch...)
		for _, a := range batch {
			r.bytes += a.bytes
		}
		return
	}
	for _, a := range batch {
		if at, copied := r.place(a); copied {
			r.bytes += a.bytes - r.pending[at].bytes
			r.pending[at] = a
		} else {
			r.insert(at, a)
		}
	}
}

func (r *receiver) insert(at int, a *arrival) {
	r.bytes += a.bytes
	r.pending = slices.Insert(r.pending, at, a)
}

// place returns where a stands or is to stand, and whether a copy of it stands there.
func (r *receiver) place(a *arrival) (at int, copied bool) {
	at = r.search(a.Number)
	for ; at < len(r.pending) && r.pending[at].Number == a.Number; at++ {
		if r.pending[at].stream == a.stream {
			return at, true
		}
	}
	return at, false
}

// search returns the place of the first pending arrival whose number is not below n.
func (r *receiver) search(n uint64) int {
	at, _ := slices.BinarySearchFunc(r.pending, n, func(a *arrival, n uint64) int { return cmp.Compare(a.Number, n) })
	return at
}

// resume notes that the sender has announced the route: what it ships may be decided once its ids will be remembered.
//
// Several routes of a peer may lead into one queue: the longest window of them counts, and a refusal of one is that of all,
// because neither a number nor a refusal names its route.
//
// Where ids carry the guarantee, a sender that may retry for longer than they are promised is refused before it has shipped
// anything: a message of its that comes late could not be told from a new one.
func (r *receiver) resume(route protocol.ResumeRoute) {
	r.tally.horizon.Store(int64(route.Horizon))
	window, refusal := dedupe.Window(route.Horizon), error(nil)
	if r.ByIDs {
		window, refusal = dedupe.Promise(route.Horizon, r.MaxWindow)
	}
	r.mu.Lock()
	if refusal == nil {
		refusal = r.refusal
	}
	r.widest = max(r.widest, window)
	if r.asked, r.refusal = r.widest, refusal; refusal != nil {
		r.asked = 0
	}
	r.mu.Unlock()
	if r.tally.refuse(refusal) {
		if refusal != nil {
			r.s.link.log.Error("route refused", "peer", r.s.peer.agent, "route", route.Name, "queue", r.To, "error", refusal)
		} else {
			r.s.link.log.Info("route is taken again", "peer", r.s.peer.agent, "route", route.Name, "queue", r.To)
		}
	}
	if refusal != nil {
		r.s.refuseRoute(r.To, message.StreamID{}, protocol.CodeHorizon, refusal.Error())
	}
	notify(r.wake)
}

func (r *receiver) refused() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal
}

// floor notes that the sender has ended all numbers of a stream below floor.
func (r *receiver) floor(stream message.StreamID, floor uint64) {
	r.mu.Lock()
	if len(r.floors) < maxGranted {
		r.floors[stream] = max(r.floors[stream], floor)
	}
	r.mu.Unlock()
	notify(r.wake)
}

// forget lets the spool forget what was closed below the floors.
func (r *receiver) forget(ctx context.Context) error {
	r.mu.Lock()
	floors := r.floors
	if len(floors) > 0 {
		r.floors = make(map[message.StreamID]uint64)
	}
	r.mu.Unlock()
	for stream, floor := range floors {
		if err := r.s.link.store.Floor(ctx, stream, r.To, floor); err != nil {
			return err
		}
		if err := r.s.pass(HookFloorObeyed); err != nil {
			return err
		}
	}
	return nil
}

// remember has the ledger keep what comes as long as the sender may retry it, before anything of it is admitted.
func (r *receiver) remember(ctx context.Context) error {
	r.mu.Lock()
	window := r.asked
	r.asked = 0
	r.mu.Unlock()
	if window == 0 {
		return nil
	}
	if err := r.s.link.store.Remember(ctx, r.s.link.o.Name, r.To, window); err != nil {
		return err
	}
	if err := r.s.pass(HookRemembered); err != nil {
		return err
	}
	r.mu.Lock()
	r.resumed = true
	r.mu.Unlock()
	return nil
}

// decide offers the spool what is in order, one transaction at a time, and answers. While a transaction runs the next one
// gathers, so that under load they grow.
func (r *receiver) decide(ctx context.Context) error {
	for {
		if err := r.remember(ctx); err != nil {
			return err
		}
		if err := r.forget(ctx); err != nil {
			return err
		}
		run := r.decidable()
		if len(run) == 0 {
			select {
			case <-r.wake:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := r.decideRun(ctx, run); err != nil {
			return err
		}
	}
}

// decidable takes off pending a run of one stream whose every message follows, by its prev, on what is admitted or stands
// before it in the run. The spool looks again; this only keeps early batches from costing a commit each.
func (r *receiver) decidable() (run []*arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.resumed || len(r.pending) == 0 {
		return nil
	}
	frontiers := make(map[message.StreamID]uint64, 2)
	frontier := func(stream message.StreamID) uint64 {
		f, ok := frontiers[stream]
		if !ok {
			f = r.s.link.store.Frontier(stream, r.To)
			frontiers[stream] = f
		}
		return f
	}
	size, kept := 0, 0
	for i, a := range r.pending {
		follows := a.Number <= frontier(a.stream) || a.Prev.Number == 0 || a.Prev.Number <= frontier(a.Prev.Stream)
		if size < decideBytes && follows && (len(run) == 0 || run[0].stream == a.stream) {
			frontiers[a.stream] = max(frontier(a.stream), a.Number)
			size += a.bytes
			run = append(run, a)
			if a.Unreadable == nil {
				continue
			}
			// What follows a record that cannot be read must wait for it: it is refused, and its number stays open.
			kept += copy(r.pending[kept:], r.pending[i+1:])
			r.shrink(kept)
			r.bytes -= size
			return run
		}
		r.pending[kept] = a
		kept++
	}
	r.shrink(kept)
	r.bytes -= size
	return run
}

func (r *receiver) shrink(n int) {
	clear(r.pending[n:])
	r.pending = r.pending[:n]
}

// decideRun offers one run to the spool and answers what was decided.
func (r *receiver) decideRun(ctx context.Context, run []*arrival) error {
	stream := run[0].stream
	known := r.s.link.store.Frontier(stream, r.To) > 0
	if !r.admits(stream, known) {
		return nil
	}
	arrivals := spool.Arrivals{Peer: r.s.link.o.Name, Session: r.s.id, Queue: r.To, Stream: stream, Messages: make([]spool.Arrival, len(run))}
	now := time.Now()
	for i := range run {
		arrivals.Messages[i] = run[i].Arrival
		arrivals.Messages[i].Age += now.Sub(run[i].at)
	}
	decisions, err := r.s.link.store.Accept(ctx, arrivals)
	if err != nil {
		return fmt.Errorf("accept %d messages into queue %q: %w", len(run), r.To, err)
	}
	if !known && r.s.link.store.Frontier(stream, r.To) > 0 {
		r.s.link.newcomers.begun()
	}
	if err := r.s.pass(HookDecided); err != nil {
		return err
	}
	r.answer(run, decisions)
	return r.s.pass(HookAnswerSaid)
}

// answer says what was decided: consecutive numbers of one verdict as one range, refusals one by one. Even a duplicate is
// answered: the first answer may be lost.
func (r *receiver) answer(run []*arrival, decisions []spool.Decision) {
	stream := run[0].stream
	var ranges []protocol.AcceptedRange
	flush := func() {
		if len(ranges) > 0 {
			r.s.send(&protocol.Accepted{Answer: r.s.answer(r.To, stream), Ranges: ranges})
			ranges = nil
		}
	}
	var early []*arrival
	var route protocol.Code // the route was refused for it, which is said once
	for i, d := range decisions {
		number := run[i].Number
		switch d.Verdict {
		case message.Undecided:
			early = append(early, run[i])
		case message.Refused:
			r.tally.refused.Add(1)
			scope, code := scopeOf(d.Refusal)
			if scope == protocol.ScopeRoute && code == route {
				continue
			}
			if scope == protocol.ScopeRoute {
				route = code
			}
			r.refuse(run[i], d.Refusal)
		default:
			r.count(d.Verdict)
			one := protocol.AcceptedRange{Verdict: d.Verdict, Young: d.Young, Reason: d.Reason}
			if n := len(ranges); n > 0 && ranges[n-1].Last+1 == number {
				if one.Range = ranges[n-1].Range; one == ranges[n-1] {
					ranges[n-1].Last = number
					continue
				}
			}
			if len(ranges) == protocol.MaxAcceptedRanges {
				flush()
			}
			one.Range = message.Range{First: number, Last: number}
			ranges = append(ranges, one)
		}
	}
	flush()
	r.grant(stream)
	r.putBack(early)
}

func (r *receiver) count(v message.Verdict) {
	switch v {
	case message.Accepted:
		r.tally.accepted.Add(1)
	case message.Closed:
		r.tally.closed.Add(1)
	default:
		r.tally.duplicates.Add(1)
	}
}

// putBack keeps what the spool found too early, to be offered again when its prev is there. A copy that has come meanwhile
// stays: it names the newer prev, and the older one may be settled at the sender and never come again.
func (r *receiver) putBack(early []*arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range early {
		if at, copied := r.place(a); !copied {
			r.insert(at, a)
		}
	}
}

// grant raises the credit of a stream when half of what was granted is used.
func (r *receiver) grant(stream message.StreamID) {
	o := r.s.link.o
	through := r.s.link.store.Frontier(stream, r.To) + o.CreditMessages
	r.mu.Lock()
	raise := through >= r.granted[stream]+o.CreditMessages/2
	if raise {
		if len(r.granted) == maxGranted {
			clear(r.granted)
		}
		r.granted[stream] = through
	}
	r.mu.Unlock()
	if raise {
		r.s.send(&protocol.Credit{Session: r.s.id, Queue: r.To, Stream: stream, Through: through, Bytes: o.CreditBytes})
	}
}

// refuse answers what was not stored, with the reach of its cause: the message's own fault, or the route's state.
func (r *receiver) refuse(a *arrival, cause error) {
	f := &protocol.Refused{Answer: r.s.answer(r.To, a.stream), Text: cause.Error()}
	f.Scope, f.Code = scopeOf(cause)
	if f.Scope == protocol.ScopeMessage {
		f.Range = message.Range{First: a.Number, Last: a.Number}
	}
	r.s.send(f)
}

// scopeOf translates a refusal of the spool into the words of the wire.
func scopeOf(cause error) (protocol.Scope, protocol.Code) {
	switch {
	case errors.Is(cause, message.ErrCorrupt):
		return protocol.ScopeMessage, protocol.CodeCorrupt
	case errors.Is(cause, spool.ErrConflict):
		return protocol.ScopeMessage, protocol.CodeIDConflict
	case errors.Is(cause, spool.ErrTooLarge):
		return protocol.ScopeMessage, protocol.CodeTooLarge
	case errors.Is(cause, spool.ErrLoop):
		return protocol.ScopeMessage, protocol.CodeLoop
	case errors.Is(cause, spool.ErrTooOld):
		return protocol.ScopeMessage, protocol.CodeHorizonPassed
	case errors.Is(cause, spool.ErrInDoubt):
		return protocol.ScopeMessage, protocol.CodeInDoubt
	case errors.Is(cause, spool.ErrLedgerFull):
		return protocol.ScopeRoute, protocol.CodeLedgerFull
	case errors.Is(cause, spool.ErrFork):
		return protocol.ScopeRoute, protocol.CodeFork
	case isMalformed(cause), errors.Is(cause, spool.ErrMalformed):
		return protocol.ScopeMessage, protocol.CodeMalformed
	case errors.Is(cause, spool.ErrNoQueue):
		return protocol.ScopeRoute, protocol.CodeUnknownQueue
	}
	return protocol.ScopeRoute, protocol.CodeStorage
}

func isMalformed(err error) bool {
	return errors.Is(err, pack.ErrMalformed) || errors.Is(err, pack.ErrTruncated)
}
