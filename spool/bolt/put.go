package bolt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/spool"
)

// staged is a message that the commit in progress stores.
type staged struct {
	key    dedupe.Key
	sum    uint32
	place  message.Place // under which it came; zero for a local put
	record []byte
	// promised says that its id goes into the promised ledger.
	promised bool
	// alias is the key of its first generation, for a message of a later one: puts know no other. Zero for none.
	alias dedupe.Key
	// sequence is given when the group is complete.
	sequence uint64
}

// staging is what the commit in progress stores in one queue.
type staging struct {
	queue *queue
	lanes [lanes][]*staged
}

// stage adds a message to the tail of a lane.
func (t *txn) stage(q *queue, lane uint8, m *staged) {
	t.changed = true
	t.ready[q.name] = struct{}{}
	t.byKey[m.key] = m
	if m.alias != (dedupe.Key{}) {
		t.byKey[m.alias] = m
	}
	s := t.stagingOf(q)
	if s == nil {
		s = &staging{queue: q}
		t.staging = append(t.staging, s)
	}
	s.lanes[lane] = append(s.lanes[lane], m)
}

// stagingOf returns what this commit stores in q, nil if it is nothing.
func (t *txn) stagingOf(q *queue) *staging {
	if i := slices.IndexFunc(t.staging, func(s *staging) bool { return s.queue == q }); i >= 0 {
		return t.staging[i]
	}
	return nil
}

// writeGroups gives the staged messages their sequences, lane by lane so that those of a group are consecutive, and writes
// the groups.
func (t *txn) writeGroups() error {
	for _, s := range t.staging {
		for lane := range s.lanes {
			if len(s.lanes[lane]) == 0 {
				continue
			}
			if err := t.writeGroup(s.queue, uint8(lane), s.lanes[lane]); err != nil {
				return fmt.Errorf("write a group of queue %q: %w", s.queue.name, err)
			}
		}
	}
	return nil
}

func (t *txn) writeGroup(q *queue, lane uint8, messages []*staged) error {
	b, err := t.open(q)
	if err != nil {
		return err
	}
	if err := t.stream(q, b, lane); err != nil {
		return err
	}
	g := &group{lane: lane, first: q.next, count: len(messages), live: len(messages), at: t.now}
	epoch := t.mem.identity.Epoch.Counter
	records := make([][]byte, len(messages))
	size := 0
	for i, m := range messages {
		m.sequence = q.next
		q.next++
		records[i] = m.record
		size += len(m.record)
		if len(q.marks) > 0 && q.marks.owner(lane, m.sequence) != "" {
			q.inDoubt++ // the mark was written ahead
		}
	}
	blob := appendBlobHead(make([]byte, 0, blobHeadBytes+4*len(records)+size), lane, epoch, g.first, t.now, records)
	for _, r := range records {
		blob = append(blob, r...)
	}
	// A bucket of its own lets bbolt write the blob once and free it as a whole; beside other values of one bucket it would be
	// written again with each of them.
	nested, err := b.groups.CreateBucket(groupKey(lane, g.first))
	if err != nil {
		return err
	}
	if err := nested.Put(keyBlob, blob); err != nil {
		return err
	}
	q.live[lane] += uint64(g.count)
	q.bytes += uint64(size)
	q.lanes[lane].appended(g, epoch)
	return nil
}

// stream makes sure that the lane has a stream in this epoch, durable with its first number.
func (t *txn) stream(q *queue, b *buckets, lane uint8) error {
	if q.lanes[lane].streamed {
		return nil
	}
	id := message.NewStreamID()
	q.lanes[lane].streamed = true
	return b.streams.Put(streamKey(lane, t.mem.identity.Epoch.Counter), id[:])
}

// put is one message of a Put on its way.
type put struct {
	queue  string
	lane   uint8
	minted bool
	name   message.EndToEnd
	staged
	// first is the copy in the same commit that this one repeats.
	first *staged
}

// Put implements spool.Local.
func (s *Store) Put(ctx context.Context, puts []spool.Put) ([]spool.PutResult, error) {
	results := make([]spool.PutResult, len(puts))
	items := make([]*put, len(puts))
	bytes, wanted := 0, 0
	now := s.options.Now()
	for i := range puts {
		item, id, err := s.preparePut(&puts[i], now)
		results[i] = spool.PutResult{ID: id}
		if err != nil {
			results[i].Status, results[i].Err = spool.Rejected, err
			continue
		}
		items[i] = item
		bytes += len(item.record)
		wanted++
	}
	if wanted == 0 {
		return results, nil
	}
	err := s.commit(ctx, bytes, func(t *txn) error {
		for i, item := range items {
			if item != nil {
				t.put(item, &results[i])
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("put %d messages: %w", len(puts), err)
	}
	for i, item := range items {
		switch {
		case item == nil || results[i].Sequence != 0:
		case item.first != nil:
			results[i].Sequence = item.first.sequence
		default:
			results[i].Sequence = item.sequence
		}
	}
	return results, nil
}

// preparePut does all that needs no transaction. Its error is a refusal.
func (s *Store) preparePut(p *spool.Put, now time.Time) (*put, string, error) {
	m, id, err := spool.NewMessage(p, s.options.Queues, s.options.Agent, now)
	if err != nil {
		return nil, id, err
	}
	return &put{
		queue:  p.Queue,
		lane:   p.Priority,
		minted: p.ID == "",
		name:   m.EndToEnd(),
		staged: staged{
			key:    s.hasher.Key(p.Queue, m.EndToEnd()),
			sum:    m.ContentSum(),
			record: message.AppendRecord(make([]byte, 0, len(p.Body)+256), &m),
		},
	}, id, nil
}

// put decides one message. An id that was minted for it is known to nobody else.
func (t *txn) put(item *put, result *spool.PutResult) {
	q := t.mem.queues[item.queue]
	if !item.minted {
		if first := t.byKey[item.key]; first != nil {
			item.first = first
			q.repeated(spool.Duplicate, first.sum == item.sum, result)
			return
		}
		if e, status := t.sighted(q, item.key, item.name); status != 0 {
			if result.Sequence = e.Sequence; e.Sequence == 0 {
				item.first = t.byKey[e.Key] // it dies in this very commit
			}
			q.repeated(status, e.Sum == item.sum, result)
			return
		}
	}
	t.stage(q, item.lane, &item.staged)
	q.counts.stored++
	result.Status = spool.Stored
}

// sighted tells whether the id of a put is known, and as what: a copy among the dead letters is the one to tell of.
func (t *txn) sighted(q *queue, key dedupe.Key, name message.EndToEnd) (dedupe.Entry, spool.PutStatus) {
	if dead := t.findDead(q, name); dead != nil {
		return *dead, spool.DuplicateDead
	}
	if e, ok := t.find(key); ok {
		return e, spool.Duplicate
	}
	return dedupe.Entry{}, 0
}

// repeated answers a put whose id is known.
func (q *queue) repeated(status spool.PutStatus, same bool, result *spool.PutResult) {
	if same {
		q.counts.duplicates++
		result.Status = status
		return
	}
	result.Status, result.Err = spool.Conflict, spool.ErrConflict
}

// Seen implements spool.Local. The committer looks, because it alone may use the ledger's index.
func (s *Store) Seen(ctx context.Context, queue, id string, sum uint32) (result spool.PutResult, err error) {
	if err := s.known(queue); err != nil {
		return result, err
	}
	name := message.EndToEnd{Origin: s.options.Agent, ID: id}
	key := s.hasher.Key(queue, name)
	var seen spool.PutResult // the committer's own: the caller may have gone
	err = s.commit(ctx, 0, func(t *txn) error {
		e, status := t.sighted(t.mem.queues[queue], key, name)
		if status != 0 && e.Sum != sum {
			status, seen.Err = spool.Conflict, spool.ErrConflict
		}
		seen.ID, seen.Status, seen.Sequence = id, status, e.Sequence
		return nil
	})
	if err != nil {
		return result, fmt.Errorf("look for id %q in queue %q: %w", id, queue, err)
	}
	return seen, nil
}
