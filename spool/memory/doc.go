// Package memory holds all queues of one agent, and the ledger of ids, in memory. It is the truthful twin of spool/bolt: it
// gives the same answers to the same calls, which package spooltest holds both to, and it costs no disk.
//
// Nothing survives a restart: each opening begins with a new spool id, no message, no frontier and no ledger, so that a far
// side which sends again what was answered before is heard anew. And no transaction spans two engines: a message that
// moves between a queue of this engine and one of another may be in both for a moment, so a route should lead neither from
// nor to a queue that is held here unless losing and doubling its messages is acceptable.
//
// One mutex guards everything, and nothing waits under it. Each call is a commit of its own. Records are encoded before the
// mutex is taken and read after it was released, but for those of dead letters. The ledger is bounded by its windows alone.
package memory
