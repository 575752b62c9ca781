// Package dedupe decides whether a message is already in a queue. It holds the order of the rules by which a receiver
// judges a shipped message, the rows in which the ledger remembers what was admitted, the index that finds a row again, and
// the window for which a row must be kept. It is pure: no I/O, no goroutine, no clock. The engine that stores the rows calls
// it inside the transaction that admits.
package dedupe
