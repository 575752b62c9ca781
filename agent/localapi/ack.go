package localapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"drawbridge/api"
	"drawbridge/spool"
)

// Bounds of one ack call.
const (
	MaxAckBytes    = 4 << 20
	MaxAckReceipts = 10_000
)

// ack settles deliveries and answers one verdict a line, in order.
func (s *Server) ack(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	body, err := readBody(w, r, MaxAckBytes)
	if err != nil {
		return err
	}
	receipts, err := parseReceipts(mediaType(r), body)
	if err != nil {
		return err
	}
	if len(receipts) == 0 {
		return refuse(api.CodeMalformed, "no receipt in the body; send one a line")
	}
	if len(receipts) > MaxAckReceipts {
		return refuse(api.CodeTooLarge, "%d receipts, at most %d are taken at once", len(receipts), MaxAckReceipts)
	}
	outcomes, err := s.store.Ack(r.Context(), receipts)
	if err != nil {
		return err
	}
	results := make([]api.AckResult, len(receipts))
	for i, receipt := range receipts {
		verdict, err := ackVerdict(outcomes[i])
		if err != nil {
			return err
		}
		results[i] = api.AckResult{Receipt: string(receipt), Verdict: verdict}
	}
	return writeLines(w, http.StatusOK, results)
}

func ackVerdict(outcome error) (api.AckVerdict, error) {
	switch {
	case outcome == nil:
		return api.Acked, nil
	case errors.Is(outcome, spool.ErrAlreadySettled):
		return api.AckAlready, nil
	case errors.Is(outcome, spool.ErrStaleReceipt):
		return api.AckStale, nil
	case errors.Is(outcome, spool.ErrBadReceipt):
		return api.AckBadReceipt, nil
	}
	return "", fmt.Errorf("ack: %w", outcome)
}

// parseReceipts reads a list in whichever form it comes: a JSON array, JSON lines, or else one receipt a line, so that the
// default content type of curl does.
func parseReceipts(mediaType string, body []byte) ([]spool.Receipt, error) {
	switch mediaType {
	case api.TypeJSON:
		var list []receipt
		if err := decodeLine(body, &list); err != nil {
			return nil, err
		}
		receipts := make([]spool.Receipt, len(list))
		for i, r := range list {
			receipts[i] = spool.Receipt(r)
		}
		return receipts, nil
	case api.TypeNDJSON:
		var receipts []spool.Receipt
		for i, line := range nonEmptyLines(body) {
			var r receipt
			if err := decodeLine(line, &r); err != nil {
				return nil, fmt.Errorf("receipt %d: %w", i+1, err)
			}
			receipts = append(receipts, spool.Receipt(r))
		}
		return receipts, nil
	}
	var receipts []spool.Receipt
	for _, line := range nonEmptyLines(body) {
		receipts = append(receipts, spool.Receipt(bytes.TrimSpace(line)))
	}
	return receipts, nil
}

// receipt is a JSON string or an object around it.
type receipt string

func (r *receipt) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(r))
	}
	var line api.AckLine
	if err := decodeLine(b, &line); err != nil {
		return err
	}
	*r = receipt(line.Receipt)
	return nil
}
