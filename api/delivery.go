package api

import "time"

// Message is what deliveries and peeked messages have in common.
type Message struct {
	ID       string            `json:"id"`
	Queue    string            `json:"queue"`
	Sequence uint64            `json:"sequence"`
	Origin   string            `json:"origin"`
	Priority uint8             `json:"priority"`
	Key      string            `json:"key,omitempty"`
	QoS      string            `json:"qos"`
	StoredAt time.Time         `json:"stored_at"`
	Headers  map[string]string `json:"headers,omitempty"`
	// Deliveries counts how often the message was handed out, this time included.
	Deliveries uint32 `json:"deliveries"`
	// Death is why the message lies among the dead letters; absent from one that lives.
	Death *Death `json:"death,omitempty"`
	Body
}

// Death is how a message came among the dead letters.
type Death struct {
	// Reason is the stable word, Text says more.
	Reason string `json:"reason"`
	Text   string `json:"text,omitempty"`
	// Queue is the queue that it died in, Route the way out on which, if it was on one.
	Queue string `json:"queue"`
	Route string `json:"route,omitempty"`
	// Deliveries counts how often it was handed out there.
	Deliveries uint32    `json:"deliveries"`
	At         time.Time `json:"at"`
}

// Delivery is one message handed out to a consumer, one JSON object a line.
type Delivery struct {
	Message
	Receipt string `json:"receipt"`
	// LeaseMillis is how many milliseconds the lease still runs.
	LeaseMillis int64 `json:"lease_millis"`
}

// Peeked is one message shown in its place, one JSON object a line.
type Peeked struct {
	Message
	// Leased says that a local consumer has it now; Waiting that it was given back and is not ready yet; InDoubt that a route has
	// shipped it and waits for an answer.
	Leased  bool `json:"leased"`
	Waiting bool `json:"waiting"`
	InDoubt bool `json:"in_doubt"`
}
