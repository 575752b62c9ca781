// Package bolt keeps all queues of one agent, and the ledger of ids, in one bbolt file, so that accepting a message and
// remembering it are one transaction. It is the default engine of package spool.
//
// # Files
//
//	spool.db   the database
//	spool.id   the identity stamp: spool id and format version. A database that is empty, foreign or another spool's is
//	           refused beside it, and so is a database without its stamp
//	lock       held while the spool is open; never deleted
//
// How they come to be, so that a crash at any step leaves either no spool or a whole one, stands at createIfMissing.
//
// # Layout
//
//	meta                      format, spool (id), secret (of the hash of ids), epochs (the last 64, newest first),
//	                          time (spool time and wall clock of the last commit), note/KEY (SetMeta),
//	                          window/PEER/QUEUE (for how long the peer has asked to remember),
//	                          jump (of spool time at a start, not accepted), gone and gone-promised (spool time of the last row
//	                          forgotten), promise/QUEUE (since when ids carry the guarantee there, in spool time)
//	queues                    (each with another, QUEUE.dead, of its dead letters)
//	└─ QUEUE                  counters: next sequence, bytes, live messages of each lane
//	   ├─ streams             lane, epoch counter      → stream id
//	   ├─ groups
//	   │  └─ lane, first      b → ONE blob: head {version, lane, epoch counter, first sequence, spool time, count, CRC},
//	   │                          end of each record, records
//	   ├─ state               lane, first sequence     → settled bitmap, leases {index, deliveries, deadline, nonce}, CRC
//	   └─ marks               lane, route              → the segments of the lane that were shipped on the route, and since when
//	frontiers                 stream id, queue         → highest number admitted or closed, spool time of its last rise
//	closed                    stream id, queue, number → why it was closed
//	promised                  like ledger, for queues that go by ids: nothing in it is forgotten for want of room
//	ledger                    row number               → a row of package dedupe, of up to 64 ids that one commit stored
//
// A group is the messages that one commit puts into one lane of one queue. Its sequences are consecutive, its blob is
// written once, and settling its last message removes it with its state. A message's number on a hop is its sequence: numbers
// rise over all epochs, and gaps mean nothing. A group without a row in state has nothing settled and nothing leased; there
// is one row for a group, whoever settles, because whatever settles a message ends it. Integers in keys and heads are
// big-endian.
//
// # Who does what
//
// One goroutine, the committer, writes the file and owns the memory. It takes all calls that wait, up to 8 MiB of payload,
// decides them in their order inside one transaction, commits, publishes a snapshot, and answers them all. There is no timer:
// while one commit syncs, the next group gathers. It also ends leases, by one timer for the next deadline. Records are
// encoded before a call gets to it and read and verified after, in the caller's goroutine. Stats, Lanes, MarkOf and Frontier
// look at what was published; everything else that reads has a short transaction of its own, which waits for nothing.
//
// A commit that fails may be in the file all the same. So its callers hear that the outcome is unknown, all sessions end,
// the file is closed and opened again under a new epoch, and the memory is read from it. The memory is therefore changed
// in place while a group is decided, and never rolled back.
//
// The mutexes (of intake, readers, watchers, frontiers and damage) guard a few fields each. None is held while another is
// taken, or over I/O.
//
// # Limits
//
// Delays, expiry, quotas and at-most-once are not built yet. The fork of a stream is noticed where the same id
// came under the same number with other content.
package bolt
