package protocol

// Code is the stable word that a program branches on; the text beside it is for people. A decoder takes any code of 1 to
// MaxCodeBytes of a-z and -, because a newer peer may know more of them: treat an unknown one by the scope it came with.
type Code string

// MaxCodeBytes bounds a code.
const MaxCodeBytes = 32

// Codes of a Refused with ScopeSession.
const (
	// CodeVersion: the two sides have no version in common.
	CodeVersion Code = "version"
	// CodeIdentity: key, agent name or spool is not the one that is configured or known here.
	CodeIdentity Code = "identity"
	// CodeBusy: nothing is wrong, try later.
	CodeBusy Code = "busy"
	// CodeMalformed: a frame broke a rule. With ScopeMessage: a record did.
	CodeMalformed Code = "malformed"
	// CodeInternal: the refusing side has failed; its log says how.
	CodeInternal Code = "internal"
)

// Codes of a Refused with ScopeRoute.
const (
	// CodeUnknownQueue: no such queue is configured there.
	CodeUnknownQueue Code = "unknown-queue"
	// CodeNoRight: the link's entry does not name the queue.
	CodeNoRight Code = "no-right"
	// CodeRemoteFull: the queue or the disk has no room now.
	CodeRemoteFull Code = "remote-full"
	// CodeLedgerFull: the ledger has no room without forgetting what it promised to remember.
	CodeLedgerFull Code = "ledger-full"
	// CodeHorizon: the sender may retry for longer than ids are promised there.
	CodeHorizon Code = "horizon"
	// CodeFork: a number came before with another message, so two spools number one stream.
	CodeFork Code = "fork"
	// CodeStorage: the disk failed.
	CodeStorage Code = "storage"
)

// Codes of a Refused with ScopeMessage, beside CodeMalformed.
const (
	// CodeTooLarge: the body is above the queue's limit.
	CodeTooLarge Code = "too-large"
	// CodeIDConflict: the id is known there with other content.
	CodeIDConflict Code = "id-conflict"
	// CodeLoop: the message has passed that agent before, or too many agents.
	CodeLoop Code = "loop"
	// CodeHorizonPassed: the message may have come first before the ledger of ids reaches back to.
	CodeHorizonPassed Code = "horizon-passed"
	// CodeInDoubt: it may have been delivered in a lost life of its spool, and the ledger cannot tell.
	CodeInDoubt Code = "in-doubt"
	// CodeCorrupt: a checksum does not match.
	CodeCorrupt Code = "corrupt"
)

// Codes of a Bye.
const (
	// CodeShutdown: the agent stops.
	CodeShutdown Code = "shutdown"
	// CodeSuperseded: another connection has taken over.
	CodeSuperseded Code = "superseded"
	// CodeStalled: nothing was heard for too long.
	CodeStalled Code = "stalled"
)
