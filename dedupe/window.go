package dedupe

import (
	"fmt"
	"time"
)

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

// DefaultMaxWindow is the longest window that a receiver promises unless it is told otherwise.
const DefaultMaxWindow = 30 * 24 * time.Hour

// HorizonError says that a sender may retry for longer than the receiver can promise to remember.
type HorizonError struct {
	// Horizon is the longest a sender may retry; 0 means for ever. MaxWindow is the longest window promised here.
	Horizon, MaxWindow time.Duration
}

// Error gives both numbers and the mend.
func (e *HorizonError) Error() string {
	if e.Horizon == 0 {
		return fmt.Sprintf("the sender may retry for ever, and ids are promised for at most %s here: give its route a retry_for", e.MaxWindow)
	}
	return fmt.Sprintf("the sender may retry for %s, which needs a window of %s, and ids are promised for at most %s here: lower retry_for there or raise ledger_max_window here",
		e.Horizon, Window(e.Horizon), e.MaxWindow)
}

// Promise returns the window that a queue needs whose guarantee is carried by ids, or a HorizonError if it is not finite or
// longer than maxWindow.
func Promise(horizon, maxWindow time.Duration) (time.Duration, error) {
	if window := Window(horizon); horizon > 0 && window <= maxWindow {
		return window, nil
	}
	return 0, &HorizonError{horizon, maxWindow}
}
