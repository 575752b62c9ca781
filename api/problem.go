package api

// Code names an error for programs. Codes never change their meaning; texts may.
type Code string

// Codes of the local API. Those answered with 400, 403, 404, 409, 413, 429 or 507 mean that the call changed nothing.
const (
	// CodeIDConflict (409): the id is in use with other content. Retrying cannot help.
	CodeIDConflict Code = "id-conflict"
	// CodeMalformed (400): an id, a name, a header or a body's form is not allowed.
	CodeMalformed Code = "malformed"
	// CodeBadOption (400): a query option is unknown or has a value out of bounds.
	CodeBadOption Code = "bad-option"
	// CodeTooLarge (413): the body is above the limit of its queue or call.
	CodeTooLarge Code = "too-large"
	// CodeRefused (400): refused for a reason that has no code of its own; the detail says it.
	CodeRefused Code = "refused"
	// CodeNoSuchQueue (404): the agent's configuration names no such queue.
	CodeNoSuchQueue Code = "no-such-queue"
	// CodeNoSuchLink (404): the agent's configuration names no such link.
	CodeNoSuchLink Code = "no-such-link"
	// CodeNoSuchCall (404) and CodeBadMethod (405): no such path, or not with this method.
	CodeNoSuchCall Code = "no-such-call"
	CodeBadMethod  Code = "bad-method"
	// CodeQueueIsRouted (409): the queue leaves by a link, so it gives no local leases.
	CodeQueueIsRouted Code = "queue-is-routed"
	// CodeReserved (403): the queue is for dead letters, and nobody may put into it.
	CodeReserved Code = "reserved"
	// CodeUnknown (503): the change may or may not be durable. Repeating the call with the same ids is safe.
	CodeUnknown Code = "unknown"
	// CodeStopping (503): the agent is stopping and the call changed nothing. Retry when it runs again.
	CodeStopping Code = "stopping"
	// CodeNotReady (503) is the answer of /readyz alone.
	CodeNotReady Code = "not-ready"
	// CodeBusy (429): the agent has as much at hand as it takes at once, and has not looked at this. Repeat it after a moment.
	CodeBusy Code = "busy"
	// CodeBadToken (401): the listener asks for a token, and the request has none or another one.
	CodeBadToken Code = "bad-token"
	// CodeInternal (500): a question that could not be answered; nothing was changed.
	CodeInternal Code = "internal"
)

// Problem is the body of every error answer (RFC 9457), sent as TypeProblem.
type Problem struct {
	// Title says what happened, the same for each Code; Detail says what exactly and what to do about it.
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   Code   `json:"code"`
}
