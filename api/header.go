package api

// Headers of requests and answers. A message handed out alone travels as a raw body with all else in these headers.
const (
	HeaderID         = "Drawbridge-Id"
	HeaderQueue      = "Drawbridge-Queue"
	HeaderReceipt    = "Drawbridge-Receipt"
	HeaderSequence   = "Drawbridge-Sequence"
	HeaderDeliveries = "Drawbridge-Deliveries"
	HeaderOrigin     = "Drawbridge-Origin"
	HeaderPriority   = "Drawbridge-Priority"
	HeaderKey        = "Drawbridge-Key"
	HeaderQoS        = "Drawbridge-Qos"
	// HeaderStoredAt is the source's wall clock when it stored the message, RFC 3339 in UTC with milliseconds.
	HeaderStoredAt = "Drawbridge-Stored-At"
	// HeaderLeaseMillis is how many milliseconds the lease still runs.
	HeaderLeaseMillis = "Drawbridge-Lease-Millis"
	// HeaderDeath is there if the message is a dead letter: a Death as JSON.
	HeaderDeath = "Drawbridge-Death"
	// HeaderPrefix precedes the name of a message header: Drawbridge-H-Content-Type is the message header content-type.
	HeaderPrefix = "Drawbridge-H-"
	// HeaderIdempotencyKey gives the id of a message that is posted rather than put.
	HeaderIdempotencyKey = "Idempotency-Key"
)

// Media types of the API.
const (
	TypeJSON    = "application/json"
	TypeNDJSON  = "application/x-ndjson"
	TypeProblem = "application/problem+json"
	TypeBytes   = "application/octet-stream"
	TypeText    = "text/plain"
)
