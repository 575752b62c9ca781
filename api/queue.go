package api

// Queue is the state of one queue as of the last commit.
type Queue struct {
	Name string `json:"name"`
	// Messages and Bytes count what is live, leased included; Bytes are those of records.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// Leased counts messages that local consumers hold; Waiting those that were given back and are not ready yet; InDoubt those
	// that a route has shipped and has no answer for.
	Leased  uint64 `json:"leased"`
	Waiting uint64 `json:"waiting"`
	InDoubt uint64 `json:"in_doubt"`
	// OldestAgeMillis is how long the oldest live message has been here.
	OldestAgeMillis int64 `json:"oldest_age_millis"`
	// Stored, Duplicates, Acked, Settled, Accepted and Buried count since the agent opened its spool.
	Stored     uint64 `json:"stored"`
	Duplicates uint64 `json:"duplicates"`
	Acked      uint64 `json:"acked"`
	Settled    uint64 `json:"settled"`
	Accepted   uint64 `json:"accepted"`
	// Buried ones became dead letters: they lie in the queue of the same name with the suffix .dead, which is listed while it
	// holds any.
	Buried uint64 `json:"buried"`
	// Route is the name of the route the queue leaves by; empty for a queue with local consumers.
	Route string `json:"route,omitempty"`
}
