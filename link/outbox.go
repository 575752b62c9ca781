package link

import (
	"context"
	"errors"
	"sync"

	"drawbridge/protocol"
)

// maxOutboxBytes bounds what waits for a control stream. Answers are bounded by the credit this side gave; only a peer that
// asks for echoes and never reads them can reach it.
const maxOutboxBytes = 1 << 20

// outbox collects frames for the control stream, so that nobody who has an answer waits for the network. Frames leave in
// the order in which they were put. Safe for concurrent use.
type outbox struct {
	mu      sync.Mutex // guards what follows; not held over a write
	buf     []byte
	spare   []byte
	waiting chan struct{} // holds at most one value: something was put
}

func newOutbox() *outbox { return &outbox{waiting: make(chan struct{}, 1)} }

// put appends a frame and reports whether there was room. It does not block.
func (o *outbox) put(f protocol.Frame) bool {
	o.mu.Lock()
	room := len(o.buf) < maxOutboxBytes
	if room {
		o.buf = protocol.Append(o.buf, f)
	}
	o.mu.Unlock()
	notify(o.waiting)
	return room
}

var errOutboxFull = errors.New("the peer does not read its control stream")

// writeTo writes what is put until ctx ends or a write fails.
func (o *outbox) writeTo(ctx context.Context, stream Stream) error {
	for {
		select {
		case <-o.waiting:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		o.mu.Lock()
		b := o.buf
		o.buf, o.spare = o.spare[:0], nil
		o.mu.Unlock()
		if _, err := stream.Write(b); err != nil {
			return err
		}
		o.mu.Lock()
		o.spare = b
		o.mu.Unlock()
	}
}

// notify leaves a value in a channel of capacity one, unless one lies there already.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
