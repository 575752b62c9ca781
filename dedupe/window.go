package dedupe

import "time"

// DefaultWindow is the window for senders that may retry for ever. No window is long enough for them: there the frontier
// carries the guarantee, and the ledger is the second net for producers' retries and for senders that lost their numbers.
const DefaultWindow = 24 * time.Hour

// MinAllowance is the least that a window exceeds its horizon by: a frame that left just before the horizon passed may
// still be on its way through a stalled link, or be held here until its predecessor comes.
const MinAllowance = 10 * time.Minute

// Window returns how long a receiver must remember an id if senders may retry for horizon, counted from the first possible
// ship; 0 means for ever and gives DefaultWindow. Horizon is at most message.MaxDuration.
//
// The window exceeds the horizon by an eighth, at least MinAllowance. Sender and receiver measure time each by itself, and
// across a restart by the wall clock's difference, so that their measures part in proportion to the time that passes; and a
// row forgotten too early is a message admitted twice.
func Window(horizon time.Duration) time.Duration {
	if horizon <= 0 {
		return DefaultWindow
	}
	return horizon + max(MinAllowance, horizon/8)
}
