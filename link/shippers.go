package link

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"drawbridge/protocol"
)

// readersPerConn bounds how many batches of one connection are read at the same moment, and with it the memory a peer can
// fill with halves of batches. Streams beyond it wait inside the connection's flow control.
const readersPerConn = 32

// leastUnreadBytes bounds the memory of all batches of a session that have begun to come: a peer that sends each but for its
// last byte would else fill as much as all readers may read. Who waits for room leaves its bytes to the flow control of its
// connection.
const leastUnreadBytes = 32 << 20

// unreadBytes is that bound where messages may be large: it leaves room for some of them at once.
func unreadBytes(maxMessageBytes uint64) int64 {
	return max(leastUnreadBytes, 4*int64(min(maxMessageBytes, math.MaxInt32)))
}

// maxConns bounds the connections of a session, and with readersPerConn what a peer can make this side hold of batches.
const maxConns = 16

// shippers are the connections of a session and the workers that ship over them: one worker a connection, so that a
// connection whose window is full takes no batch away from one whose is not.
type shippers struct {
	s *session
	// shipped holds a value when something has left since keepAlive looked: now an answer is awaited.
	shipped chan struct{}

	wg      sync.WaitGroup
	mu      sync.Mutex // guards what follows; never held over I/O
	workers map[int]*worker
	nextVia int
	turn    int // the sender that is asked first next time, so that no queue starves another
	stopped bool
	closed  bool
}

// worker ships over one connection.
type worker struct {
	via   int
	conn  Conn
	began time.Time
	wake  chan struct{} // holds at most one value
}

func newShippers(s *session) *shippers {
	return &shippers{s: s, shipped: make(chan struct{}, 1), workers: make(map[int]*worker)}
}

// decline closes a connection that is not taken. That of a session which has just ended hears why, whoever closes it first.
func (s *session) decline(conn Conn) {
	if cause := context.Cause(s.ctx); cause != nil {
		conn.Close(closeCode(byeCode(cause)), cause.Error())
		return
	}
	conn.Close(closeCode(superseded), "the session has connections enough")
}

// carry uses a connection for batches both ways until it or the session ends. Whatever was shipped over it and not
// answered is shipped again over another one.
func (s *session) carry(conn Conn) {
	sh := s.shippers
	w, ok := sh.add(conn)
	if !ok {
		s.decline(conn)
		return
	}
	defer sh.wg.Done()
	g, ctx := errgroup.WithContext(s.ctx)
	stop := context.AfterFunc(s.ctx, func() { s.hangUp(conn) })
	g.Go(func() error { return sh.ship(ctx, w) })
	g.Go(func() error { return s.receive(ctx, conn) })
	g.Go(func() error {
		select {
		case <-conn.Done():
			return conn.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	_ = g.Wait()
	stop()
	// One half may have failed alone: a peer that went on shipping over the other would wait for answers for ever.
	s.hangUp(conn)
	sh.remove(w)
	for _, snd := range s.senders {
		snd.lost(w.via)
	}
	sh.wake()
}

// hangUp closes a connection and tells the peer why the session has ended, if it has.
func (s *session) hangUp(conn Conn) {
	if cause := context.Cause(s.ctx); cause != nil {
		conn.Close(closeCode(byeCode(cause)), cause.Error())
		return
	}
	conn.Close(closeCode(superseded), "no longer used")
}

func (sh *shippers) add(conn Conn) (*worker, bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed || len(sh.workers) == maxConns {
		return nil, false
	}
	sh.wg.Add(1)
	sh.nextVia++
	w := &worker{via: sh.nextVia, conn: conn, began: time.Now(), wake: make(chan struct{}, 1)}
	sh.workers[w.via] = w
	return w, true
}

func (sh *shippers) remove(w *worker) {
	sh.mu.Lock()
	delete(sh.workers, w.via)
	sh.mu.Unlock()
}

// closeAll closes every connection; add refuses from then on.
func (sh *shippers) closeAll(code uint64, text string) {
	sh.mu.Lock()
	sh.closed = true
	sh.mu.Unlock()
	for _, c := range sh.conns() {
		c.Close(code, text)
	}
}

// renew closes the data connections that stood when the peer was last heard before it was silent for long. Their
// retransmission timers have grown with the silence, and would let pass as much time again before they try; what they carried
// goes over new ones, and until those stand over the control connection.
func (sh *shippers) renew(silentSince time.Time) {
	sh.mu.Lock()
	var old []Conn
	for _, w := range sh.workers {
		if w.conn != sh.s.conn && !w.began.After(silentSince) {
			old = append(old, w.conn)
		}
	}
	sh.mu.Unlock()
	for _, c := range old {
		c.Close(closeCode(protocol.CodeStalled), "the peer was silent for long")
	}
}

func (sh *shippers) wait() { sh.wg.Wait() }

func (sh *shippers) conns() (all []Conn) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, w := range sh.workers {
		all = append(all, w.conn)
	}
	return all
}

// wake tells the workers that something may be shipped that could not be before.
func (sh *shippers) wake() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, w := range sh.workers {
		notify(w.wake)
	}
}

// stop lets no further batch leave.
func (sh *shippers) stop() {
	sh.mu.Lock()
	sh.stopped = true
	sh.mu.Unlock()
}

// ship takes batches and writes them until the connection fails or the session ends.
func (sh *shippers) ship(ctx context.Context, w *worker) error {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	t.Stop() // until there is something to wait for
	for {
		job, wake := sh.next(w)
		if job != nil {
			if err := job.ship(ctx, w.conn); err != nil {
				return err
			}
			continue
		}
		if !wake.IsZero() {
			t.Reset(max(time.Until(wake), time.Millisecond))
		}
		select {
		case <-w.wake:
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next takes the next batch for w, asking the senders in turn, or says when to ask again. The control connection carries
// batches only while there is no other: its window must stay open for answers and heartbeats.
func (sh *shippers) next(w *worker) (*job, time.Time) {
	sh.mu.Lock()
	idle := sh.stopped || (w.conn == sh.s.conn && len(sh.workers) > 1)
	first := sh.turn
	sh.turn++
	sh.mu.Unlock()
	if idle {
		return nil, time.Time{}
	}
	now := time.Now()
	var wake time.Time
	for i := range sh.s.senders {
		snd := sh.s.senders[(first+i)%len(sh.s.senders)]
		job, at := snd.next(now, w.via)
		if job != nil {
			notify(sh.shipped)
			return job, time.Time{}
		}
		if !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return nil, wake
}

// receive reads batches off a connection until it fails.
func (s *session) receive(ctx context.Context, conn Conn) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readersPerConn + 1)
	g.Go(func() error {
		for {
			stream, err := conn.AcceptUniStream(ctx)
			if err != nil {
				return err
			}
			g.Go(func() error { return s.readBatch(stream, conn) })
		}
	})
	return g.Wait()
}

// readBatch reads the one Ship or Close of a stream. A stream that breaks off is nothing: its batch comes again. One that holds
// another frame is a peer that speaks another language, and ends the session.
func (s *session) readBatch(stream ReceiveStream, conn Conn) error {
	frames := protocol.NewReader(stream, s.link.o.MaxMessageBytes)
	var room int64
	frames.Ask(func(bytes int) error {
		wanted := min(int64(bytes), unreadBytes(s.link.o.MaxMessageBytes))
		if err := s.unread.Acquire(s.ctx, wanted); err != nil {
			return err
		}
		room = wanted
		return nil
	})
	defer func() { s.unread.Release(room) }()
	f, err := frames.Next()
	stream.Stop()
	if err != nil {
		if isMalformed(err) {
			err = fmt.Errorf("batch from %s: %w", conn.RemoteAddr(), err)
			s.end(err)
			return err
		}
		return nil
	}
	switch f := f.(type) {
	case *protocol.Ship:
		s.arrive(f)
	case *protocol.Close:
		s.arriveClose(f)
	default:
		err := fmt.Errorf("%s sent %s where a batch was due", conn.RemoteAddr(), f.Type())
		s.end(err)
		return err
	}
	return s.pass(HookBatchTaken)
}
