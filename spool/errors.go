package spool

import "errors"

// ErrUnknown is wrapped by errors of changing methods after a commit that failed or was cut off: the change may or may not
// be durable. Repeating the call with the same ids is safe; reporting "not stored" would be a lie.
var ErrUnknown = errors.New("outcome unknown")

// ErrClosed is returned after Close: the call changed nothing.
var ErrClosed = errors.New("the spool is closed")

// ErrNoQueue is returned for a queue that is not configured.
var ErrNoQueue = errors.New("no such queue")

// ErrRouted is returned by Lease on a queue that leaves by a route: its messages belong to the far side. Peek works.
var ErrRouted = errors.New("the queue is routed")

// ErrConflict is the Err of a PutResult whose id is known with other content, and the refusal of an arrival that is.
// The producer reused an id; retrying cannot help.
var ErrConflict = errors.New("the id is in use with other content")

// ErrTooLarge is the refusal of a body above the queue's MaxMessageBytes.
var ErrTooLarge = errors.New("the message is too large")

// ErrMalformed is the refusal of a message that breaks a limit of names or headers.
var ErrMalformed = errors.New("the message is malformed")

// ErrLoop is the refusal of an arrival that has passed this agent before, or too many.
var ErrLoop = errors.New("the message goes in a loop")

// ErrTooOld is the refusal of an arrival into a queue with QueueOptions.ByIDs that is older than the ledger reaches back:
// whether it came before, nobody can tell.
var ErrTooOld = errors.New("the message is older than the ledger reaches back")

// ErrNoMessage is returned by Requeue and Purge for a sequence under which nothing lies, or nothing any more.
var ErrNoMessage = errors.New("no such message")

// ErrLeased is returned by Requeue and Purge for a message that a consumer has now.
var ErrLeased = errors.New("a consumer has the message")

// ErrInDoubt is the refusal of an arrival that may have been delivered in a lost life of its spool, and is too old for the
// ledger to tell.
var ErrInDoubt = errors.New("the message may have been delivered before")

// ErrLedgerFull is the refusal of an arrival into a queue with QueueOptions.ByIDs for whose id there is no room without
// forgetting one that was promised to be kept. It has room again as windows pass, or with a larger cap.
var ErrLedgerFull = errors.New("the ledger of ids is full")

// ErrFork is the refusal of an arrival under a number that came before with another message: two spools number one stream.
var ErrFork = errors.New("two spools number one stream")

// ErrReserved is returned for a put into a queue of dead letters: only a message that dies gets there.
var ErrReserved = errors.New("the queue is for dead letters")

// ErrAlreadySettled is returned by Settle for a delivery that was settled before: what the caller wants may have been done, and
// its answer been lost. It is known for SettledKept, or SettledMost deliveries of a queue, as long as the store is open; after
// that the receipt is stale.
var ErrAlreadySettled = errors.New("already settled")

// ErrBadReceipt is returned by Settle for a token that no delivery of this spool ever had, such as a bare message id.
var ErrBadReceipt = errors.New("not a receipt")

// ErrStaleReceipt is returned by Settle when the lease behind the receipt has run out. Another delivery may own
// the message: the caller lost a race, not data, and should forget the receipt.
var ErrStaleReceipt = errors.New("stale receipt")

// ErrSessionEnded is returned by Accept for frames of a session that is no longer in force. Drop them: the sender resends
// what was not answered.
var ErrSessionEnded = errors.New("the session has ended")

// ErrInUse is returned when another process holds the spool's directory.
var ErrInUse = errors.New("another process uses this spool")
