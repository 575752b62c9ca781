package localapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"drawbridge/api"
)

// Bounds of one call about receipts.
const (
	MaxReceipts      = 10_000
	MaxReceiptsBytes = 4 << 20
)

// readReceipts reads the receipts in the body of a call, at least one.
func readReceipts(w http.ResponseWriter, r *http.Request) ([]api.ReceiptLine, error) {
	body, err := readBody(w, r, MaxReceiptsBytes)
	if err != nil {
		return nil, err
	}
	lines, err := parseReceipts(mediaType(r), body)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, refuse(api.CodeMalformed, "no receipt in the body; send one a line")
	}
	if len(lines) > MaxReceipts {
		return nil, refuse(api.CodeTooLarge, "%d receipts, at most %d are taken at once", len(lines), MaxReceipts)
	}
	return lines, nil
}

// parseReceipts reads a list in whichever form it comes: a JSON array, JSON lines, or else one receipt a line, so that the
// default content type of curl does.
func parseReceipts(mediaType string, body []byte) ([]api.ReceiptLine, error) {
	var lines []api.ReceiptLine
	switch mediaType {
	case api.TypeJSON:
		var list []receiptLine
		if err := decodeLine(body, &list); err != nil {
			return nil, err
		}
		for _, l := range list {
			lines = append(lines, api.ReceiptLine(l))
		}
	case api.TypeNDJSON:
		for i, line := range nonEmptyLines(body) {
			var l receiptLine
			if err := decodeLine(line, &l); err != nil {
				return nil, fmt.Errorf("receipt %d: %w", i+1, err)
			}
			lines = append(lines, api.ReceiptLine(l))
		}
	default:
		for _, line := range nonEmptyLines(body) {
			lines = append(lines, api.ReceiptLine{Receipt: string(bytes.TrimSpace(line))})
		}
	}
	return lines, nil
}

// receiptLine is a JSON string or an object around it.
type receiptLine api.ReceiptLine

func (l *receiptLine) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &l.Receipt)
	}
	return decodeLine(b, (*api.ReceiptLine)(l))
}
