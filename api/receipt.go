package api

// AckVerdict is what became of one receipt.
type AckVerdict string

// Verdicts of an ack.
const (
	// Acked: the delivery is settled for good.
	Acked AckVerdict = "acked"
	// AckAlready: the delivery was settled before: an earlier ack may have been done and its answer lost. It is known for ten
	// minutes, as long as the agent runs; after that the receipt is stale.
	AckAlready AckVerdict = "already-settled"
	// AckStale: the lease ran out; another delivery may own the message. Forget the receipt.
	AckStale AckVerdict = "stale"
	// AckBadReceipt: no delivery of this agent ever had such a receipt.
	AckBadReceipt AckVerdict = "bad-receipt"
)

// AckLine is one receipt of an ack sent as JSON lines; a bare JSON string does as well.
type AckLine struct {
	Receipt string `json:"receipt"`
}

// AckResult is the answer to one receipt, one JSON object a line, in the order of the receipts.
type AckResult struct {
	Receipt string     `json:"receipt"`
	Verdict AckVerdict `json:"verdict"`
}
