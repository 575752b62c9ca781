package link

// Points at which Options.Hook is called: the steps of a message's way, and those of a session's beginning. Tests stand at
// each of them, end one side there, and look whether both sides agree in the end.
const (
	// HookWelcomed: the peer's Welcome was read; its fence is not stored.
	HookWelcomed = "welcome.read"
	// HookFenceStored: the fence is durable; the session is not in force.
	HookFenceStored = "fence.stored"
	// HookSessionBegun: the session is in force in this side's spool; nothing was said in it.
	HookSessionBegun = "session.begun"
	// HookResumed: the routes out are announced, or wait to be written.
	HookResumed = "session.resumed"

	// HookMarkBegin: messages were read from the spool that lie above the shipped mark.
	HookMarkBegin = "mark.begin"
	// HookMarkDone: the mark is durable above them; none has left.
	HookMarkDone = "mark.done"
	// HookShipBuilt: the records of a batch were read; nothing of it was written.
	HookShipBuilt = "ship.built"
	// HookShipWritten: the batch was given to the connection; no answer is known.
	HookShipWritten = "ship.written"
	// HookCloseBegun: the peer has refused a message, or it cannot be shipped: from now on its Close is to leave.
	HookCloseBegun = "close.begun"
	// HookCloseBuilt: a Close was built, for a refusal or a horizon; nothing of it was written.
	HookCloseBuilt = "close.built"
	// HookCloseWritten: the Close was given to the connection; no answer is known.
	HookCloseWritten = "close.written"
	// HookAnswered: an answer was read that counts; nothing of it is settled.
	HookAnswered = "answer.read"
	// HookSettled: what was answered is settled, durably.
	HookSettled = "settle.done"
	// HookBuried: what was closed is among the dead letters, durably; the peer was not told that it may forget the numbers.
	HookBuried = "bury.done"

	// HookRemembered: the spool knows for how long the ids of a route are to be remembered; nothing of it was decided.
	HookRemembered = "window.stored"
	// HookBatchTaken: a batch of the peer was read and waits to be decided.
	HookBatchTaken = "batch.taken"
	// HookDecided: a run is decided, durably; no answer to it was said.
	HookDecided = "run.decided"
	// HookAnswerSaid: the answers wait to be written.
	HookAnswerSaid = "answer.said"
	// HookFloorObeyed: the closed numbers below the peer's floor are forgotten, durably.
	HookFloorObeyed = "floor.obeyed"
)

// HookPoints returns all points, so that one test can go through them and a new point without a test is noticed.
func HookPoints() []string {
	return []string{
		HookWelcomed, HookFenceStored, HookSessionBegun, HookResumed,
		HookMarkBegin, HookMarkDone, HookShipBuilt, HookShipWritten, HookCloseBegun, HookCloseBuilt, HookCloseWritten,
		HookAnswered, HookSettled, HookBuried,
		HookRemembered, HookBatchTaken, HookDecided, HookAnswerSaid, HookFloorObeyed,
	}
}

// pass tells the hook, if there is one, that point is reached.
func (o *Options) pass(point string) error {
	if o.Hook == nil {
		return nil
	}
	return o.Hook(point)
}

// pass is that of the options, and an error of the hook ends the session. It is never called with a lock held.
func (s *session) pass(point string) error {
	err := s.link.o.pass(point)
	if err != nil {
		s.end(err)
	}
	return err
}
