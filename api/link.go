package api

import "time"

// Link is the state of one link, with all of its routes.
type Link struct {
	Name string `json:"name"`
	// State is one of connecting, up, stalled, remote-full, ledger-full, paused, refused and draining; Reason says why in
	// words. Since is when the state began.
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	// Peer is the pin the other side must prove; PeerAgent the name it gave itself, empty before the first session.
	Peer      string `json:"peer"`
	PeerAgent string `json:"peer_agent,omitempty"`
	// Address is where packets go now; empty without a connection.
	Address   string  `json:"address,omitempty"`
	RTTMillis float64 `json:"rtt_millis"`
	Session   string  `json:"session,omitempty"`

	Sends    []LinkRoute   `json:"sends"`
	Receives []LinkReceive `json:"receives"`

	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
	// ConnectedOver is the number of connections that stand.
	ConnectedOver int    `json:"connected_over"`
	PacketsSent   uint64 `json:"packets_sent"`
	PacketsLost   uint64 `json:"packets_lost"`
}

// LinkRoute is one way out: messages of From enter the peer's queue To.
type LinkRoute struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// State and Reason are those of the route alone; a route may hold while its link is up.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Queued counts what the route still has to bring over; Unanswered how much of it was shipped and waits for an answer.
	Queued                 uint64 `json:"queued"`
	Unanswered             uint64 `json:"unanswered"`
	UnansweredBytes        uint64 `json:"unanswered_bytes"`
	OldestUnansweredMillis int64  `json:"oldest_unanswered_millis"`
	// Settled, Buried and Resent count since the agent started: what was brought over, what became a dead letter, and what was
	// shipped more than once.
	Settled uint64 `json:"settled"`
	Buried  uint64 `json:"buried"`
	Resent  uint64 `json:"resent"`
	// Horizon is the longest one message may be retried, as a duration; "unbounded" if for ever.
	Horizon string `json:"horizon"`
}

// LinkReceive is one way in: what the peer may send to Queue.
type LinkReceive struct {
	Queue string `json:"queue"`
	// Reason says why nothing is taken on this way; absent if all is well.
	Reason string `json:"reason,omitempty"`
	// Accepted, Duplicates, Closed and Refused count since the agent started. Closed are messages that the peer has ended.
	Accepted   uint64 `json:"accepted"`
	Duplicates uint64 `json:"duplicates"`
	Closed     uint64 `json:"closed"`
	Refused    uint64 `json:"refused"`
	// Horizon is the longest the peer may retry one message, as a duration; "unbounded" if for ever. Window is for how long
	// an id must therefore be remembered, EffectiveWindow for how much of that every id is known: it is shorter while the
	// ledger's caps make it forget early, or while the window has grown and ids were forgotten before.
	Horizon string `json:"horizon"`
	// HorizonMillis is Horizon as a number; 0 if it is unbounded, or if the peer has not announced one yet.
	HorizonMillis   int64  `json:"horizon_millis"`
	Window          string `json:"window"`
	EffectiveWindow string `json:"effective_window"`
}
