// Package spool is the contract of queues at rest: what an engine stores, what it answers and what survives a crash. The
// engines stand in packages below it (spool/bolt); each holds the messages and the dedupe ledger, because accepting a
// message writes both in one transaction.
package spool

import (
	"context"
	"time"

	"drawbridge/message"
)

// Store is all durable queues of one agent. Every method is one atomic operation, safe for concurrent use. A method that
// changes something returns after its commit is durable; calls that wait at the same moment share a commit. An error of a
// changing method that is not one of the refusals in errors.go wraps ErrUnknown: the change may or may not be durable, and
// repeating the call with the same ids is safe.
//
// After a failed commit the store reopens itself under a new epoch: all sessions end, and calls go on.
type Store interface {
	Local
	Outgoing
	Incoming
	Ledger

	// Capabilities returns what this engine can do.
	Capabilities() Capabilities
	// Identity returns spool id and present epoch.
	Identity() Identity
	// Meta returns the value stored under key, or nil.
	Meta(key string) ([]byte, error)
	// SetMeta stores value under key, durably. A nil value removes the key.
	SetMeta(ctx context.Context, key string, value []byte) error
	// ListMeta returns what is stored under the keys that begin with prefix, sorted by key.
	ListMeta(prefix string) ([]Note, error)
	// Stats returns the counters of all queues as of the last commit, sorted by name. It does not block.
	Stats() []QueueStats
	// Failed is closed when the store has given up for good (it could not reopen after a failed commit); Err says why. Until
	// then it heals itself.
	Failed() <-chan struct{}
	Err() error
	// Close waits for the commit in progress, refuses what waits behind it with ErrClosed, and releases the files.
	Close() error
}

// Note is a value stored by SetMeta.
type Note struct {
	Key   string
	Value []byte
}

// Identity says which spool this is and which opening of it.
type Identity struct {
	Spool message.SpoolID
	Epoch message.Epoch
	// Previous is the epoch before; zero for the first.
	Previous message.Epoch
}

// Local is what producers and consumers on this host use.
type Local interface {
	// Put stores messages at the tails of their queues and returns one result per message, in order, which is also the order
	// of storing within one priority of a queue. Bodies and headers are copied before Put returns. It sets Origin, Seal and
	// StoredAt itself. One message's refusal does not hinder the others; only a failed commit fails them all.
	Put(ctx context.Context, puts []Put) ([]PutResult, error)
	// Lease hands out up to req.Max messages that are ready, the higher priority first and the oldest first within one; a
	// redelivered one in its original place. The lease and its delivery count are durable before Lease returns. An empty result means that nothing is ready now; Watch tells
	// when to ask again. A record that fails its checksum is skipped, logged and kept.
	Lease(ctx context.Context, req LeaseRequest) ([]Delivery, error)
	// Ack is Settle with Ack for each receipt.
	Ack(ctx context.Context, receipts []Receipt) ([]error, error)
	// Settle ends deliveries, gives them back or extends their leases, in order. The result has one entry per settlement. Only a
	// lease that runs can be settled: after it has run out the message may be another's.
	Settle(ctx context.Context, settlements []Settlement) ([]Settled, error)
	// Requeue gives dead letters of queue another life: each leaves the queue of its dead letters and enters the tail of queue, in
	// one commit, under the next generation, so that no ledger takes it for what it was before. Sequences are those among the
	// dead letters. The result has one entry for each: nil, ErrNoMessage or ErrLeased. An id stays known for puts.
	Requeue(ctx context.Context, queue string, sequences []uint64) ([]error, error)
	// Purge removes messages of queue for good, or, with the name of a queue of dead letters, those. The result has one entry for
	// each sequence: nil, ErrNoMessage, ErrLeased, or ErrRouted for what a route has shipped before the queue lost it: it may be at
	// the far side, and may not be forgotten here. So a queue that leaves by a route is ErrRouted as a whole.
	Purge(ctx context.Context, queue string, sequences []uint64) ([]error, error)
	// Peek returns up to max live messages from sequence from on, in the order of sequences and without leasing them. It stops
	// early after some 4 MiB of records; an empty result means that there are no more.
	Peek(ctx context.Context, queue string, from uint64, max int) ([]Peeked, error)
	// Seen tells what a Put of that id and content sum (message.Head.ContentSum) into the queue would be told now: Duplicate,
	// DuplicateDead or Conflict with the sequence of the first copy, else zero. It changes nothing, and by the time that it
	// returns another may have put the id.
	Seen(ctx context.Context, queue, id string, sum uint32) (PutResult, error)
	// Watch returns a channel that receives a value after each commit that may have made something ready in queue: a message
	// stored, or a lease run out. It holds at most one value, so that no wake-up is lost and none piles up. stop releases it.
	Watch(queue string) (ready <-chan struct{}, stop func())
}

// Put is one message to be stored.
type Put struct {
	Queue string
	// ID is minted when empty.
	ID       string
	Priority uint8
	Key      string
	QoS      message.QoS
	Headers  message.Headers
	Body     []byte
}

// PutStatus is what became of a Put.
type PutStatus uint8

const (
	// Stored: durable now.
	Stored PutStatus = iota + 1
	// Duplicate: the queue has or had this id with the same content; nothing was stored, Sequence is that of the first copy.
	Duplicate
	// DuplicateDead: like Duplicate, and the first copy lies among the queue's dead letters; Sequence is its place there.
	DuplicateDead
	// Conflict: the queue has or had this id with other content; nothing was stored. The result's Err is ErrConflict.
	Conflict
	// Rejected: certainly not stored; Err says why.
	Rejected
)

// PutResult is the answer to one Put.
type PutResult struct {
	ID       string
	Status   PutStatus
	Sequence uint64
	Err      error
}

// LeaseRequest asks for deliveries.
type LeaseRequest struct {
	Queue string
	// Max is the most messages wanted; 0 means 1.
	Max int
	// MaxBytes stops after the message that reaches it; 0 means 4 MiB. At least one message is handed out.
	MaxBytes int
	// Visibility is how long the lease runs; 0 means the queue's visibility_timeout.
	Visibility time.Duration
}

// Receipt is the opaque token of one delivery.
type Receipt string

// Delivery is one handing-out of a message.
type Delivery struct {
	message.Message
	// Sequence is the message's place in this queue; it never changes here.
	Sequence uint64
	Receipt  Receipt
	// Deadline is how long the lease still runs, counted from now.
	Deadline time.Duration
}

// Peeked is a message in its place.
type Peeked struct {
	message.Message
	Sequence uint64
	// Leased says that a local consumer has it now, Waiting that it was given back and is not ready yet; InDoubt that a route has
	// shipped it and waits for an answer.
	Leased, Waiting, InDoubt bool
}

// Route names a way out of a queue: messages of Queue leave under Name, which a link gives it. A message's progress is kept
// per route.
type Route struct {
	Queue, Name string
}

// Outgoing is what the sending half of a link uses. Numbers are the sequences of the queue: they rise over all epochs and
// have gaps. A lane is the messages of one priority.
type Outgoing interface {
	// Lanes returns the priorities that route holds messages of, highest first. One whose messages all belong to another route
	// may be among them. A message belongs to the route under whose mark it fell first, else to its queue's route.
	Lanes(route Route) []uint8
	// Held returns up to max messages of the lane that are above number after and not settled on route, in order.
	Held(ctx context.Context, route Route, lane uint8, after uint64, max int) ([]Held, error)
	// Fetch returns the records of messages of the route's queue, in the order of numbers; a number that is gone is left out.
	// The records are copies.
	Fetch(ctx context.Context, route Route, lane uint8, numbers []uint64) ([]Record, error)
	// Mark makes the shipped mark of the lane durable at or above through. A frame with a number may leave only when the mark
	// has reached it. A mark never sinks.
	Mark(ctx context.Context, route Route, lane uint8, through uint64) error
	// MarkOf returns the durable shipped mark of the lane, 0 if none.
	MarkOf(route Route, lane uint8) uint64
	// LowestHeld returns a number that is not above any that the lane of a queue holds, on whatever route, as of the last
	// commit; what was held below it has ended, durably. With nothing held it is above all numbers given so far.
	LowestHeld(queue string, lane uint8) uint64
	// BuryRoute ends messages of route as dead letters after the far side's answer: in one commit each leaves the queue and
	// enters the queue of its dead letters. Numbers that SettleRoute would ignore are ignored. A record that cannot be read
	// stays where it is, and its error wraps message.ErrCorrupt; the others are buried all the same.
	BuryRoute(ctx context.Context, route Route, lane uint8, burials []Burial) error
	// SettleRoute ends messages of route for good after the far side's answer. Numbers that are settled already, were never
	// given, or were never shipped on route because they are above its mark, are ignored.
	SettleRoute(ctx context.Context, route Route, lane uint8, settled []message.Range) error
}

// Held is a message that a route still has to bring over.
type Held struct {
	message.Place
	// Bytes is the size of its record.
	Bytes int
	// Age is how long ago, in spool time, a frame with the message may first have left; 0 if none may yet. It counts from when
	// the message was in the queue and at or below the mark, whichever came last.
	Age time.Duration
}

// Record is a message as it is stored. Age is that of Held.
type Record struct {
	message.Place
	Bytes []byte
	Age   time.Duration
}

// Burial is why a message that a route has shipped becomes a dead letter. Text is for people.
type Burial struct {
	Number uint64
	Reason message.Reason
	Text   string
}

// Incoming is what the receiving half of a link uses.
type Incoming interface {
	// BeginSession ends the peer's session before and puts this one in force, in the order of commits: whatever a frame of
	// the ended session would have done after this call is dropped undecided. Peer is the link's name.
	BeginSession(ctx context.Context, peer string, session message.SessionID) (Identity, error)
	// Accept decides shipped messages and Closes in order, in one transaction with their ledger rows and frontiers. The
	// decisions have one entry per arrival; they may be sent once Accept has returned nil. ErrSessionEnded means none was
	// decided.
	Accept(ctx context.Context, a Arrivals) ([]Decision, error)
	// Remember makes the ledger keep what is stored in queue for at least window, because peer may retry a message that long.
	// The latest call counts for a peer and a queue, also after a restart. What changes nothing costs no sync.
	Remember(ctx context.Context, peer, queue string, window time.Duration) error
	// Frontier returns the highest number of stream that was admitted into queue or closed there; 0 if none.
	Frontier(stream message.StreamID, queue string) uint64
	// Floor forgets which numbers of the stream were closed in queue below floor: the sender has ended them, durably, and will
	// not ask for them again.
	Floor(ctx context.Context, stream message.StreamID, queue string, floor uint64) error
}

// Arrivals are shipped messages of one stream for one queue.
type Arrivals struct {
	Peer     string
	Session  message.SessionID
	Queue    string
	Stream   message.StreamID
	Messages []Arrival
}

// Arrival is one shipped message, or the Close of one.
type Arrival struct {
	Number uint64
	// Prev is the nearest lower message of the lane that the sender still held when it built the frame; zero if none.
	Prev message.Place
	// Age is how long ago a frame with the message may first have left the sender.
	Age time.Duration
	// Again says that the message may have been delivered in a life of the sender's spool that is lost.
	Again bool
	// Close is set if the sender wants to end the message, Unreadable if the record that came does not match its checksums:
	// then only the number is judged, and if it is new the message is refused for that. Message is empty with both; else it has
	// passed message.ParseRecord.
	Close      *Close
	Unreadable error
	Message    message.Message
}

// Close is what a sender says of a message that it wants to end, and why.
type Close struct {
	Name message.EndToEnd
	// Sum is the message's content sum.
	Sum    uint32
	Reason message.Reason
}

// Decision is what Accept decided about one arrival.
type Decision struct {
	// Verdict is Undecided when Prev is not yet admitted here: offer the message again after Prev.
	Verdict message.Verdict
	// Reason is that of the Close that was obeyed, with message.Closed.
	Reason message.Reason
	// Young says, with message.Closed and message.Below, that the message is younger than the effective window: were it here
	// under another number, the ledger would have said so.
	Young bool
	// Refusal is set with message.Refused. It wraps one of the refusals in errors.go.
	Refusal error
}

// QueueStats are the counters of one queue. They equal a scan of the file.
type QueueStats struct {
	Name string
	// Messages and Bytes count what is live, leased included; Bytes are those of records.
	Messages uint64
	Bytes    uint64
	// Leased counts messages that local consumers hold, Waiting those that were given back and are not ready yet; InDoubt those
	// that a route has shipped or may have shipped.
	Leased  uint64
	Waiting uint64
	InDoubt uint64
	// OldestAge is how long the oldest live message has been here, in spool time.
	OldestAge time.Duration
	// Stored, Duplicates, Acked, Settled and Accepted count since the store was opened.
	Stored     uint64
	Duplicates uint64
	Acked      uint64
	Settled    uint64
	Accepted   uint64
	// Buried counts, since the store was opened, the messages that became dead letters of this queue; they lie in a queue of
	// their own. Requeued counts those that came back from there, Purged what Purge has removed.
	Buried   uint64
	Requeued uint64
	Purged   uint64
	// Route is the name of the route the queue leaves by, empty for a queue with local consumers.
	Route string
}

// QueueOptions are the settings of one queue.
type QueueOptions struct {
	// VisibilityTimeout is how long a lease runs unless its request says otherwise. Default 30s.
	VisibilityTimeout time.Duration
	// MaxDeliveries is how often a message is handed to local consumers; the next time it becomes a dead letter in their place.
	// Default DefaultMaxDeliveries. Dead letters are handed out without end.
	MaxDeliveries uint32
	// Retry is how long a message waits that was given back.
	Retry Retry
	// MaxMessageBytes bounds a body. Default message.DefaultMessageBytes.
	MaxMessageBytes uint64
	// Route is the name of the route the queue leaves by; empty for a queue with local consumers. A queue with a route gives
	// no local leases.
	Route string
	// Remember is how long the ledger keeps an id after it was stored, if no peer asks for longer. Default 24h.
	Remember time.Duration
	// ByIDs says that the ledger of ids carries the guarantee for what arrives here, because one message may come over two
	// routes: no id is forgotten before its window has passed, and what is older than the ledger reaches back is refused.
	ByIDs bool
}

// DefaultVisibilityTimeout is how long a lease runs when neither request nor queue says otherwise.
const DefaultVisibilityTimeout = 30 * time.Second
