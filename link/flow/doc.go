// Package flow holds the decisions of a link's sending half: what to ship next, what to ship again, when to dial, when a peer
// counts as stalled. It is a pure core: no I/O, no lock, no clock, no goroutine, and no randomness but a source passed in, so
// a test drives it through months in a loop. Whoever owns a value guards it; nothing here may be shared without that.
package flow
