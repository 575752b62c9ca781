package bolt

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/dedupe"
	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/spool"
)

// memory is what the committer keeps of the file. It belongs to one epoch and is thrown away whole when a commit fails.
type memory struct {
	identity  spool.Identity
	queues    map[string]*queue
	names     []string       // of the queues, sorted
	position  map[string]int // in names
	due       due
	sessions  map[string]message.SessionID
	frontiers *frontiers
	open      *ledger
	promised  *ledger
	windows   map[string]int64 // what peers have announced, by windowKey
	since     map[string]int64 // since when ids carry the guarantee for a queue, in spool time
	jump      int64            // of spool time, not accepted yet
}

// load begins a new epoch in the file and reads the memory from it. The epoch is durable before load returns, and so before
// any number is given in it.
func (s *Store) load(id message.SpoolID) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	m, err := s.read(tx, id)
	if err == nil {
		err = s.options.pass(HookOpenEpoch)
	}
	if err != nil {
		tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	if err := s.options.pass(HookOpenDone); err != nil {
		return err
	}
	s.memory = m
	s.publish()
	return nil
}

func (s *Store) read(tx *bbolt.Tx, id message.SpoolID) (*memory, error) {
	m := &memory{
		queues:   make(map[string]*queue),
		sessions: make(map[string]message.SessionID),
	}
	meta := tx.Bucket(bucketMeta)
	var err error
	if m.jump, err = s.startTime(meta); err != nil {
		return nil, err
	}
	if m.identity, err = beginEpoch(meta, id); err != nil {
		return nil, err
	}
	secret := meta.Get(keySecret)
	if len(secret) != secretBytes {
		return nil, fmt.Errorf("secret of %d bytes: %w", len(secret), pack.ErrMalformed)
	}
	if s.hasher == nil {
		s.hasher = dedupe.NewHasher([secretBytes]byte(secret))
	}
	if m.frontiers, err = readFrontiers(tx.Bucket(bucketFrontiers)); err != nil {
		return nil, err
	}
	if err := s.readLedgers(tx, m); err != nil {
		return nil, err
	}
	if err := s.readQueues(tx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// beginEpoch stores a new epoch at the head of the chain.
func beginEpoch(meta *bbolt.Bucket, id message.SpoolID) (spool.Identity, error) {
	chain, err := parseEpochs(meta.Get(keyEpochs))
	if err != nil {
		return spool.Identity{}, fmt.Errorf("chain of epochs: %w", err)
	}
	identity := spool.Identity{Spool: id}
	if len(chain) > 0 {
		identity.Previous = chain[0]
	}
	var tag [8]byte
	_, _ = rand.Read(tag[:]) // ends the process rather than fail
	identity.Epoch = message.Epoch{Counter: identity.Previous.Counter + 1, Tag: binary.BigEndian.Uint64(tag[:])}
	chain = slices.Insert(chain, 0, identity.Epoch)
	chain = chain[:min(len(chain), maxEpochs)]
	return identity, meta.Put(keyEpochs, appendEpochs(nil, chain))
}

// readQueues makes the buckets of configured queues that are new, and reads every queue of the file.
func (s *Store) readQueues(tx *bbolt.Tx, m *memory) error {
	all := tx.Bucket(bucketQueues)
	for _, name := range s.queuesNeeded(all) {
		if err := makeQueue(all, name); err != nil {
			return fmt.Errorf("make queue %q: %w", name, err)
		}
	}
	err := all.ForEachBucket(func(k []byte) error {
		q, err := s.readQueue(tx, m, string(k))
		if err != nil {
			return fmt.Errorf("read queue %q: %w", k, err)
		}
		m.queues[q.name] = q
		return nil
	})
	m.names = slices.Sorted(maps.Keys(m.queues))
	m.position = make(map[string]int, len(m.names))
	for i, name := range m.names {
		m.position[name] = i
	}
	return err
}

// queuesNeeded lists the configured queues, and the dead letters of those that are in the file only: a route may still have to
// bury what it has shipped of them.
func (s *Store) queuesNeeded(all *bbolt.Bucket) []string {
	names := slices.Collect(maps.Keys(s.options.Queues))
	c := all.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if name := string(k); !spool.IsDead(name) {
			names = append(names, message.DeadQueue(name))
		}
	}
	return names
}

func makeQueue(all *bbolt.Bucket, name string) error {
	b, err := all.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return err
	}
	for _, part := range queueBuckets {
		if _, err := b.CreateBucketIfNotExists(part); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readQueue(tx *bbolt.Tx, m *memory, name string) (*queue, error) {
	q := &queue{name: name}
	q.next = 1
	q.options, q.configured = s.options.Queues[name]
	if view := s.view.Load(); view != nil {
		q.counts = view.counts(name)
	}
	b, err := openBuckets(tx, name)
	if err != nil {
		return nil, err
	}
	if row := b.queue.Get(keyCounters); row != nil {
		if q.counters, err = parseCounters(row); err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
	}
	for lane := range uint8(lanes) {
		q.lanes[lane].head = s.headOf(b, name, lane)
		if err := pruneStreams(b, lane, q.lanes[lane].head, m.identity.Epoch); err != nil {
			return nil, err
		}
	}
	if q.marks, err = readMarks(b); err != nil {
		return nil, err
	}
	if err := s.readLeases(b, m, q); err != nil {
		return nil, err
	}
	if err := s.countInDoubt(b, q); err != nil {
		return nil, err
	}
	return q, nil
}

// headOf finds the oldest readable group of a lane.
func (s *Store) headOf(b *buckets, queue string, lane uint8) groupHead {
	for id, err := range groupsFrom(b.groups, lane, 0) {
		if err != nil {
			s.damage.report(queue, 0, err)
			break
		}
		bl, err := b.blob(groupKey(id.lane, id.first))
		if err == nil {
			return groupHead{first: bl.first, at: bl.at, epoch: bl.epoch, ok: true}
		}
		s.damage.report(queue, id.first, err)
	}
	return groupHead{}
}

// pruneStreams removes the streams of epochs of which the lane holds nothing any more: those before its oldest group.
func pruneStreams(b *buckets, lane uint8, head groupHead, present message.Epoch) error {
	oldest := present.Counter
	if head.ok {
		oldest = head.epoch
	}
	var old [][]byte
	c := b.streams.Cursor()
	for k, _ := c.Seek(streamKey(lane, 0)); k != nil && string(k) < string(streamKey(lane, oldest)); k, _ = c.Next() {
		old = append(old, slices.Clone(k))
	}
	for _, k := range old {
		if err := b.streams.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

func readMarks(b *buckets) (ms marks, err error) {
	err = b.marks.ForEach(func(k, v []byte) error {
		if len(k) < 2 {
			return fmt.Errorf("key of mark %x: %w", k, pack.ErrTruncated)
		}
		m, err := parseMark(k[0], string(k[1:]), v)
		if err != nil {
			return fmt.Errorf("mark %x: %w", k, err)
		}
		ms = append(ms, m)
		return nil
	})
	return ms, err
}

// readLeases loads the groups that have leases which still run, wherever they stand.
func (s *Store) readLeases(b *buckets, m *memory, q *queue) error {
	now := s.clock.now()
	return b.state.ForEach(func(k, _ []byte) error {
		lane, first, err := parseGroupKey(k)
		if err != nil {
			return err
		}
		g, _, err := loadGroup(b, groupID{lane, first})
		if err != nil {
			s.damage.report(q.name, first, err)
			return nil
		}
		q.hold(&m.due, g, now)
		if g.held() {
			q.lanes[lane].insert(g)
		}
		return nil
	})
}

// hold enters the leases of a group that was loaded and that still run.
func (q *queue) hold(d *due, g *group, now int64) {
	for i, l := range g.leases {
		if l.deadline > now && l.place == 0 {
			d.add(holding{lease: l, queue: q, group: g, index: i})
		}
	}
}

// held tells whether a lease of the group runs.
func (g *group) held() bool {
	for _, l := range g.leases {
		if l.place > 0 {
			return true
		}
	}
	return false
}

// countInDoubt counts what lies under the marks of routes.
func (s *Store) countInDoubt(b *buckets, q *queue) error {
	for lane := range uint8(lanes) {
		highest := q.marks.highest(lane)
		if highest == 0 {
			continue
		}
		for id, err := range groupsFrom(b.groups, lane, 0) {
			if err != nil {
				return err
			}
			if id.first > highest {
				break
			}
			g, _, err := loadGroup(b, id)
			if err != nil {
				s.damage.report(q.name, id.first, err)
				continue
			}
			q.inDoubt += g.liveIf(func(n uint64) bool { return q.marks.owner(lane, n) != "" })
		}
	}
	if q.inDoubt > 0 && q.options.Route == "" {
		s.log.Warn("queue has no route now, what was shipped and not answered is held", "queue", q.name, "count", q.inDoubt)
	}
	return nil
}

// liveIf counts the live messages whose sequence passes.
func (g *group) liveIf(pass func(n uint64) bool) (n uint64) {
	for i := range g.count {
		if !g.settled.has(i) && pass(g.first+uint64(i)) {
			n++
		}
	}
	return n
}

// frontiers are the committed frontiers. The committer writes them after a commit; everybody reads them.
type frontiers struct {
	mu      sync.RWMutex
	numbers map[frontierKey]uint64
}

func readFrontiers(b *bbolt.Bucket) (*frontiers, error) {
	f := &frontiers{numbers: make(map[frontierKey]uint64)}
	return f, b.ForEach(func(k, v []byte) error {
		key, err := parseFrontierKey(k)
		if err != nil {
			return err
		}
		n, _, err := parseFrontier(v)
		if err != nil {
			return fmt.Errorf("frontier of stream %s in queue %q: %w", key.stream, key.queue, err)
		}
		f.numbers[key] = n
		return nil
	})
}

func (f *frontiers) get(k frontierKey) uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.numbers[k]
}

func (f *frontiers) merge(committed map[frontierKey]uint64) {
	if len(committed) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, n := range committed {
		f.numbers[k] = n
	}
}
