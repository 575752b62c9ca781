package memory

import (
	"encoding/base64"
	"strings"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/spool"
)

// receiptPrefix keeps a receipt apart from a message id, which may be any printable string.
const receiptPrefix = "rcpt-"

// receipt is the token of the delivery that e is leased to. It names the delivery by number, under a sum that covers the
// spool's id, so that what was never handed out here is told from what has only run out without keeping either.
func (s *Store) receipt(e *entry) spool.Receipt {
	b := pack.AppendUint64(nil, e.delivery)
	b = pack.AppendUint32(b, s.receiptSum(b))
	return spool.Receipt(receiptPrefix + base64.RawURLEncoding.EncodeToString(b))
}

// parseReceipt returns false for what this store never handed out.
func (s *Store) parseReceipt(token spool.Receipt) (delivery uint64, ok bool) {
	text, ok := strings.CutPrefix(string(token), receiptPrefix)
	if !ok {
		return 0, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return 0, false
	}
	r := pack.NewReader(b)
	delivery = r.Uint64()
	sum := r.Uint32()
	return delivery, r.Finish() == nil && sum == s.receiptSum(b[:8])
}

func (s *Store) receiptSum(b []byte) uint32 {
	id := s.identity.Spool
	return message.Checksum(append(id[:len(id):len(id)], b...))
}
