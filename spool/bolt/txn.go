package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// txn is one commit while its group is being decided. Changes of the memory are made at once; should the commit fail, the
// whole memory is read anew from the file.
type txn struct {
	store *Store
	mem   *memory
	tx    *bbolt.Tx
	now   int64 // spool time
	// changed says that there is something to commit.
	changed bool

	opened    map[*queue]*buckets
	used      map[*queue]map[groupID]*group // groups outside the windows
	dirtied   []dirtied
	staging   []*staging
	byKey     map[dedupe.Key]*staged
	frontiers map[frontierKey]uint64
	ready     map[string]struct{}

	openRows, promisedRows rowsOf
	closed                 map[closedKey]message.Reason
	deathBytes             int // of the records that died in this commit
	promises               int // ids of this commit that go into the promised ledger
}

// buckets are a queue's, opened for this transaction.
type buckets struct {
	queue, streams, groups, state, marks *bbolt.Bucket
}

type groupID struct {
	lane  uint8
	first uint64
}

type dirtied struct {
	queue *queue
	group *group
}

func (s *Store) newTxn(tx *bbolt.Tx) *txn {
	return &txn{
		store:        s,
		mem:          s.memory,
		tx:           tx,
		now:          s.clock.now(),
		opened:       make(map[*queue]*buckets),
		byKey:        make(map[dedupe.Key]*staged),
		frontiers:    make(map[frontierKey]uint64),
		ready:        make(map[string]struct{}),
		openRows:     rowsOf{ledger: s.memory.open},
		promisedRows: rowsOf{ledger: s.memory.promised},
		closed:       make(map[closedKey]message.Reason),
	}
}

// open returns the queue's buckets.
func (t *txn) open(q *queue) (*buckets, error) {
	if b := t.opened[q]; b != nil {
		return b, nil
	}
	b, err := openBuckets(t.tx, q.name)
	if err == nil {
		// Groups, streams and state rows come in rising order and are not inserted between others.
		b.groups.FillPercent = 1
		t.opened[q] = b
	}
	return b, err
}

func openBuckets(tx *bbolt.Tx, queue string) (*buckets, error) {
	b := &buckets{queue: tx.Bucket(bucketQueues).Bucket([]byte(queue))}
	if b.queue == nil {
		return nil, fmt.Errorf("queue %q is not in the file", queue)
	}
	b.streams, b.groups = b.queue.Bucket(bucketStreams), b.queue.Bucket(bucketGroups)
	b.state, b.marks = b.queue.Bucket(bucketState), b.queue.Bucket(bucketMarks)
	if b.streams == nil || b.groups == nil || b.state == nil || b.marks == nil {
		return nil, fmt.Errorf("queue %q lacks a part of its file", queue)
	}
	return b, nil
}

// errNoGroup is the error of a group that is not in the file, or not any more.
var errNoGroup = errors.New("not in the file")

// blob returns the blob of the group with the given key.
func (b *buckets) blob(key []byte) (blob, error) {
	nested := b.groups.Bucket(key)
	if nested == nil {
		return blob{}, fmt.Errorf("group %x: %w", key, errNoGroup)
	}
	return parseBlob(nested.Get(keyBlob))
}

// group returns what is known of the group with the given first sequence, from memory or from the file. A group that is
// unreadable is reported, kept, and returned as nil.
func (t *txn) group(q *queue, id groupID) (*group, error) {
	if i, ok := q.lanes[id.lane].find(id.first); ok {
		return q.lanes[id.lane].groups[i], nil
	}
	if g := t.used[q][id]; g != nil {
		return g, nil
	}
	b, err := t.open(q)
	if err != nil {
		return nil, err
	}
	g, _, err := loadGroup(b, id)
	if err != nil {
		t.store.damage.report(q.name, id.first, err)
		return nil, nil
	}
	if t.used == nil {
		t.used = make(map[*queue]map[groupID]*group)
	}
	if t.used[q] == nil {
		t.used[q] = make(map[groupID]*group)
	}
	t.used[q][id] = g
	return g, nil
}

func loadGroup(b *buckets, id groupID) (*group, blob, error) {
	key := groupKey(id.lane, id.first)
	bl, err := b.blob(key)
	if err != nil {
		return nil, bl, err
	}
	if bl.lane != id.lane || bl.first != id.first {
		return nil, bl, fmt.Errorf("group %x says that it is %x: %w", key, groupKey(bl.lane, bl.first), message.ErrCorrupt)
	}
	st, err := parseState(b.state.Get(key), bl.count)
	if err != nil {
		return nil, bl, err
	}
	g := &group{lane: id.lane, first: id.first, count: bl.count, at: bl.at, state: st}
	g.live = g.count - g.settled.len()
	return g, bl, nil
}

// walk calls fn for each readable group of the lane that has a sequence from from up to and including through.
func (t *txn) walk(q *queue, lane uint8, from, through uint64, fn func(*group) error) error {
	b, err := t.open(q)
	if err != nil {
		return err
	}
	for id, err := range groupsFrom(b.groups, lane, from) {
		if err != nil {
			return err
		}
		if id.first > through {
			return nil
		}
		g, err := t.group(q, id)
		if err != nil {
			return err
		}
		if g != nil && g.first+uint64(g.count) > from {
			if err := fn(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupsFrom yields the groups of a lane from the one that may contain sequence from on.
func groupsFrom(groups *bbolt.Bucket, lane uint8, from uint64) iter.Seq2[groupID, error] {
	return func(yield func(groupID, error) bool) {
		c := groups.Cursor()
		for k := seekGroup(c, lane, from); k != nil && k[0] == lane; k, _ = c.Next() {
			l, first, err := parseGroupKey(k)
			if !yield(groupID{l, first}, err) || err != nil {
				return
			}
		}
	}
}

// seekGroup moves to the group of the lane with the highest first sequence that is not above from, else to the next one,
// which may be another lane's.
//
// It does not step back when it looks from the start of a lane: in a transaction that has deleted every key of a bucket
// larger than a page, Cursor.Last of bbolt 1.5.0 never returns.
func seekGroup(c *bbolt.Cursor, lane uint8, from uint64) []byte {
	key := groupKey(lane, from)
	k, _ := c.Seek(key)
	if from == 0 || bytes.Equal(k, key) {
		return k
	}
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if k != nil && k[0] == lane {
		return k
	}
	k, _ = c.Seek(key)
	return k
}

func (t *txn) dirty(q *queue, g *group) {
	t.changed = true
	if !g.dirty {
		g.dirty = true
		t.dirtied = append(t.dirtied, dirtied{q, g})
	}
}

// run decides the ops in their order and writes what they have decided.
func (t *txn) run(group []*op) error {
	for _, o := range group {
		if err := o.apply(t); err != nil {
			return err
		}
	}
	return t.finish()
}

// finish writes all that the group has decided.
func (t *txn) finish() error {
	if !t.changed {
		return nil
	}
	steps := []func() error{
		t.writeGroups, t.writeState, t.writeCounters, t.writeFrontiers, t.writeClosed, t.writeLedger, t.writeTime,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// writeState writes the rows of the groups that were leased from or settled, and removes the groups that are done with.
func (t *txn) writeState() error {
	for _, d := range t.dirtied {
		q, g := d.queue, d.group
		g.dirty = false
		b, err := t.open(q)
		if err != nil {
			return err
		}
		key := groupKey(g.lane, g.first)
		if g.live > 0 {
			if err := b.state.Put(key, g.state.append(nil, g.count)); err != nil {
				return err
			}
			continue
		}
		if err := b.state.Delete(key); err != nil {
			return err
		}
		if err := b.groups.DeleteBucket(key); err != nil {
			return err
		}
		q.lanes[g.lane].remove(g)
	}
	return t.moveHeads()
}

// moveHeads finds the oldest group of each lane whose oldest one is gone.
func (t *txn) moveHeads() error {
	for _, d := range t.dirtied {
		l := &d.queue.lanes[d.group.lane]
		if d.group.live > 0 || l.head.first != d.group.first {
			continue
		}
		b, err := t.open(d.queue)
		if err != nil {
			return err
		}
		l.head = t.store.headOf(b, d.queue.name, d.group.lane)
	}
	return nil
}

func (t *txn) writeCounters() error {
	changed := make(map[*queue]struct{}, len(t.opened))
	for _, s := range t.staging {
		changed[s.queue] = struct{}{}
	}
	for _, d := range t.dirtied {
		changed[d.queue] = struct{}{}
	}
	for q := range changed {
		b, err := t.open(q)
		if err != nil {
			return err
		}
		if err := b.queue.Put(keyCounters, q.counters.append(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) writeFrontiers() error {
	bucket := t.tx.Bucket(bucketFrontiers)
	for k, n := range t.frontiers {
		if err := bucket.Put(k.bytes(), appendFrontier(nil, n, t.now)); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) writeTime() error {
	m := moment{spool: t.now, wall: t.store.clock.wall().UnixMilli()}
	return t.tx.Bucket(bucketMeta).Put(keyTime, m.append(nil))
}

// publish lets readers see what has been committed.
func (t *txn) publish() {
	t.mem.frontiers.merge(t.frontiers)
	t.store.publish()
}
