package api

// ReceiptVerdict is what became of one receipt.
type ReceiptVerdict string

// Verdicts on receipts.
const (
	// Acked: the delivery is settled, and the message has ended for good.
	Acked ReceiptVerdict = "acked"
	// Nacked: the message was given back, and comes again in its place when it has waited.
	Nacked ReceiptVerdict = "nacked"
	// Died: the message was given back after as many deliveries as its queue allows, and is a dead letter of its queue now.
	Died ReceiptVerdict = "died"
	// Extended: the lease runs anew.
	Extended ReceiptVerdict = "extended"
	// Buried: the message is a dead letter of its queue now.
	Buried ReceiptVerdict = "buried"
	// AlreadySettled: the delivery was settled before, in whichever way: an earlier call may have been done and its answer lost. It
	// is known for ten minutes, as long as the agent runs; after that the receipt is stale.
	AlreadySettled ReceiptVerdict = "already-settled"
	// Stale: the lease ran out; another delivery may own the message. Forget the receipt.
	Stale ReceiptVerdict = "stale"
	// BadReceipt: no delivery of this agent ever had such a receipt.
	BadReceipt ReceiptVerdict = "bad-receipt"
)

// ReceiptLine is one receipt of a list that is sent as JSON; a bare JSON string does as well. What a line says goes before what
// the query says.
type ReceiptLine struct {
	Receipt string `json:"receipt"`
	// Delay belongs to nack: how long the message waits, such as 30s; 0s is not at all. Absent is what the queue's retry says.
	Delay string `json:"delay,omitempty"`
	// Visibility belongs to extend: how long the lease runs from now. Absent is the queue's visibility_timeout.
	Visibility string `json:"visibility,omitempty"`
	// Text belongs to nack and bury: it is kept with a message that dies of it, up to 512 bytes.
	Text string `json:"text,omitempty"`
}

// ReceiptResult is the answer to one receipt, one JSON object a line, in the order of the receipts.
type ReceiptResult struct {
	Receipt string         `json:"receipt"`
	Verdict ReceiptVerdict `json:"verdict"`
	// WaitMillis is there with Nacked: in how many milliseconds the message may be handed out again.
	WaitMillis *int64 `json:"wait_millis,omitempty"`
	// LeaseMillis is there with Extended: how many milliseconds the lease runs now.
	LeaseMillis *int64 `json:"lease_millis,omitempty"`
}
