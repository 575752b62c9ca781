package bolt

import (
	"encoding/base64"
	"strings"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/spool"
)

// receiptPrefix keeps a receipt apart from a message id, which may be any printable string.
const receiptPrefix = "rcpt-"

// nonce tells one delivery of a message from another.
type nonce [8]byte

// receipt is what the token of a delivery says. Its sum covers the spool's id, so that a token of another spool is told
// from one that has only run out.
type receipt struct {
	queue    string
	lane     uint8
	sequence uint64
	nonce    nonce
}

func (r receipt) token(id message.SpoolID) spool.Receipt {
	b := pack.AppendString(nil, r.queue)
	b = append(b, r.lane)
	b = pack.AppendUvarint(b, r.sequence)
	b = append(b, r.nonce[:]...)
	b = pack.AppendUint32(b, receiptSum(id, b))
	return spool.Receipt(receiptPrefix + base64.RawURLEncoding.EncodeToString(b))
}

// parseReceipt returns false for what this spool never handed out.
func parseReceipt(id message.SpoolID, token spool.Receipt) (receipt, bool) {
	text, ok := strings.CutPrefix(string(token), receiptPrefix)
	if !ok {
		return receipt{}, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return receipt{}, false
	}
	r := pack.NewReader(b)
	var t receipt
	t.queue = r.String(message.MaxQueueNameBytes + uint64(len(message.DeadSuffix)))
	t.lane = r.Byte()
	t.sequence = r.Uvarint()
	r.Fixed(t.nonce[:])
	signed := b[:len(b)-len(r.Rest())]
	sum := r.Uint32()
	if r.Finish() != nil || t.lane > message.MaxPriority || sum != receiptSum(id, signed) {
		return receipt{}, false
	}
	return t, true
}

func receiptSum(id message.SpoolID, b []byte) uint32 {
	return message.Checksum(append(id[:len(id):len(id)], b...))
}
