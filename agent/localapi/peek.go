package localapi

import (
	"bytes"
	"math"
	"net/http"

	"drawbridge/api"
)

// Bounds of one peek call. It works in steps, so that a thousand large bodies are never in memory at once.
const (
	DefaultPeekMessages = 100
	MaxPeekMessages     = 10_000
	peekStep            = 16
)

// peek shows messages without leasing them, from a sequence on.
func (s *Server) peek(w http.ResponseWriter, r *http.Request) error {
	queue := r.PathValue("queue")
	if _, err := s.configured(queue); err != nil {
		return err
	}
	o := readOptions(r.URL, "from", "max")
	from := o.number("from", 0, 0, math.MaxUint64)
	left := int(o.number("max", DefaultPeekMessages, 1, MaxPeekMessages))
	if o.err != nil {
		return o.err
	}
	for begun := false; left > 0; {
		peeked, err := s.store.Peek(r.Context(), queue, from, min(left, peekStep))
		if err != nil && !begun {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the status is out: only a cut connection still tells that lines are missing
		}
		if !begun {
			w.Header().Set("Content-Type", api.TypeNDJSON)
			begun = true
		}
		shown := make([]api.Peeked, len(peeked))
		for i := range peeked {
			p := &peeked[i]
			shown[i] = api.Peeked{Message: apiMessage(queue, p.Sequence, &p.Message), Leased: p.Leased, Waiting: p.Waiting, InDoubt: p.InDoubt}
		}
		var lines bytes.Buffer
		if err := appendLines(&lines, shown); err != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(lines.Bytes()); err != nil || len(peeked) < min(left, peekStep) {
			return nil
		}
		left -= len(peeked)
		from = peeked[len(peeked)-1].Sequence + 1
	}
	return nil
}
