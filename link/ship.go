package link

import (
	"context"
	"fmt"
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
	"drawbridge/protocol"
	"drawbridge/spool"
)

// job is a batch on its way to a connection.
type job struct {
	snd      *sender
	priority uint8
	batch    flow.Batch
}

// fetchBytes bounds the records that are read at once to close messages: of each only the front is needed.
const fetchBytes = 1 << 20

// ship writes the batch as one frame on a stream of its own. It returns an error only if nothing more can leave over conn.
func (j *job) ship(ctx context.Context, conn Conn) error {
	f, err := j.frame(ctx)
	if err != nil {
		j.snd.s.end(err)
		return err
	}
	if f == nil {
		return nil
	}
	stream, err := conn.OpenUniStream(ctx)
	if err != nil {
		return err
	}
	// A stream that fails costs its batch, not the connection: the peer may stop reading one, and does so once it has the
	// whole frame. What was not answered is shipped again.
	if _, err := stream.Write(protocol.Append(nil, f)); err != nil {
		stream.Reset()
		return nil
	}
	_ = stream.Close()
	return j.snd.s.pass(j.written())
}

// written is the point behind the frame of j.
func (j *job) written() string {
	if j.batch.Closing {
		return HookCloseWritten
	}
	return HookShipWritten
}

// frame builds the Ship or the Close of what may leave, nil if nothing may.
func (j *job) frame(ctx context.Context) (protocol.Frame, error) {
	if j.batch.Closing {
		return j.closeFrame(ctx)
	}
	records, err := j.fetch(ctx, j.batch.Items)
	if err != nil {
		return nil, err
	}
	if f := j.shipFrame(records); len(f.Items) > 0 {
		return f, j.snd.s.pass(HookShipBuilt)
	}
	return nil, nil
}

func (j *job) fetch(ctx context.Context, items []flow.Shipment) ([]spool.Record, error) {
	numbers := make([]uint64, len(items))
	for i, item := range items {
		numbers[i] = item.Number
	}
	records, err := j.snd.s.link.store.Fetch(ctx, j.snd.route, j.priority, numbers)
	if err != nil {
		return nil, fmt.Errorf("fetch %d messages of queue %q: %w", len(numbers), j.snd.From, err)
	}
	return records, nil
}

// shipFrame builds the Ship of what may leave. A record that is not there was settled by an answer that came while the batch
// was built, or is damaged; the flow knows which. What is behind a message that cannot leave waits for what becomes of it.
func (j *job) shipFrame(records []spool.Record) *protocol.Ship {
	snd := j.snd
	f := &protocol.Ship{Session: snd.s.id, Route: snd.Name, Queue: snd.To, Stream: j.batch.Stream, Items: make([]protocol.Shipment, 0, len(records))}
	var size int
	for _, r := range records {
		size += len(r.Bytes) + 80
	}
	buf := make([]byte, 0, size)
	for _, item := range j.batch.Items {
		if len(records) == 0 || records[0].Number != item.Number {
			if j.unreadable(item.Number, "its record cannot be read here") {
				break
			}
			continue
		}
		r := records[0]
		records = records[1:]
		if text, ok := snd.tooLarge(r.Bytes); ok {
			j.close(item.Number, message.ReasonTooLarge, text)
			break
		}
		start := len(buf)
		var err error
		if buf, err = message.AppendOnward(buf, r.Bytes, snd.s.link.o.Agent); err != nil {
			j.unreadable(item.Number, err.Error())
			break
		}
		f.Items = append(f.Items, protocol.Shipment{
			Number: item.Number,
			Prev:   item.Prev,
			Age:    r.Age.Truncate(time.Millisecond),
			Record: buf[start:len(buf):len(buf)],
		})
	}
	return f
}

// closeFrame builds the Close of what is to end. It says who each message is, so that the peer finds it under another number too.
func (j *job) closeFrame(ctx context.Context) (protocol.Frame, error) {
	snd := j.snd
	f := &protocol.Close{Session: snd.s.id, Route: snd.Name, Queue: snd.To, Stream: j.batch.Stream}
	for items := j.batch.Items; len(items) > 0; {
		n, bytes := 0, 0
		for n < len(items) && (n == 0 || bytes+items[n].Bytes <= fetchBytes) {
			bytes += items[n].Bytes
			n++
		}
		records, err := j.fetch(ctx, items[:n])
		if err != nil {
			return nil, err
		}
		for _, item := range items[:n] {
			if len(records) == 0 || records[0].Number != item.Number {
				j.unreadable(item.Number, "its record cannot be read here")
				continue
			}
			r := records[0]
			records = records[1:]
			m, err := message.ParseFront(r.Bytes)
			if err != nil {
				j.unreadable(item.Number, err.Error())
				continue
			}
			f.Items = append(f.Items, protocol.Closing{
				Number: item.Number,
				Prev:   item.Prev,
				Age:    r.Age.Truncate(time.Millisecond),
				Name:   m.EndToEnd(),
				Sum:    m.ContentSum(),
				Reason: item.Cause,
			})
		}
		items = items[n:]
	}
	if len(f.Items) == 0 {
		return nil, nil
	}
	return f, snd.s.pass(HookCloseBuilt)
}

// tooLarge says so of a record whose body is larger than the peer takes: it could not even read the frame.
func (snd *sender) tooLarge(record []byte) (text string, ok bool) {
	limit := snd.s.peer.limits.MaxMessageBytes
	if uint64(len(record)) <= limit {
		return "", false
	}
	m, err := message.ParseFront(record)
	if err != nil || m.BodyBytes <= limit {
		return "", false
	}
	return fmt.Sprintf("a body of %d bytes, the peer takes %d", m.BodyBytes, limit), true
}

// close begins to end a message that the peer need not even be asked about.
func (j *job) close(number uint64, reason message.Reason, text string) {
	j.snd.close(time.Now(), j.batch.Stream, message.Range{First: number, Last: number}, reason, text)
}

// unreadable holds the lane at a message that can neither be shipped nor be closed, because its record does not say who it is,
// and reports whether the message is still there at all.
func (j *job) unreadable(number uint64, text string) bool {
	snd := j.snd
	reason := fmt.Sprintf("%s: message %d: %s", protocol.CodeCorrupt, number, text)
	snd.mu.Lock()
	defer snd.mu.Unlock()
	return snd.holdLocked(reason, func(ln *lane) { ln.flow.HoldAt(time.Now(), j.batch.Stream, number, reason) })
}
