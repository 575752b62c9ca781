package localapi

import (
	"bytes"
	"net/http"
	"strings"

	"drawbridge/api"
	"drawbridge/message"
)

// deadOf returns the queue that a call about dead letters names, by its own name or by theirs.
func (s *Server) deadOf(r *http.Request) (string, error) {
	queue := strings.TrimSuffix(r.PathValue("queue"), message.DeadSuffix)
	_, err := s.configured(queue)
	return queue, err
}

// dead lists dead letters of a queue, or counts them.
func (s *Server) dead(w http.ResponseWriter, r *http.Request) error {
	queue, err := s.deadOf(r)
	if err != nil {
		return err
	}
	o := readOptions(r.URL, append([]string{"count", "max"}, filterOptions...)...)
	filter := readDeadFilter(o)
	count := o.yes("count")
	most := o.number("max", DefaultPeekMessages, 1, MaxPeekMessages)
	if count && o.text("max") != "" {
		o.fail("max: a count is of all, leave it out")
	}
	if o.err != nil {
		return o.err
	}
	if count {
		return s.countDead(w, r, queue, filter)
	}
	return s.listDead(w, r, queue, filter, most)
}

func (s *Server) listDead(w http.ResponseWriter, r *http.Request, queue string, filter deadFilter, most uint64) error {
	dead := message.DeadQueue(queue)
	h := w.Header()
	begun := false
	for p, err := range s.scanDead(r.Context(), dead, filter.from) {
		if err != nil && !begun {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the status is out: only a cut connection still tells that lines are missing
		}
		if !filter.matches(p) {
			continue
		}
		if !begun {
			h.Set("Content-Type", api.TypeNDJSON)
			begun = true
		}
		var line bytes.Buffer
		shown := []api.Peeked{{Message: apiMessage(dead, p.Sequence, &p.Message), Leased: p.Leased, Waiting: p.Waiting, InDoubt: p.InDoubt}}
		if err := appendLines(&line, shown); err != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(line.Bytes()); err != nil {
			return nil // who no longer listens needs no more
		}
		if most--; most == 0 {
			return nil
		}
	}
	if !begun {
		h.Set("Content-Type", api.TypeNDJSON)
	}
	return nil
}

func (s *Server) countDead(w http.ResponseWriter, r *http.Request, queue string, filter deadFilter) error {
	count := api.DeadCount{Queue: queue, ByReason: map[string]uint64{}}
	for p, err := range s.scanDead(r.Context(), message.DeadQueue(queue), 0) {
		if err != nil {
			return err
		}
		count.Total++
		if p.Sequence < filter.from || !filter.matches(p) {
			continue
		}
		count.Matching++
		death := deathOf(p)
		count.ByReason[string(death.Reason)]++
		if count.OldestAt == nil || death.At.Before(*count.OldestAt) {
			count.OldestAt = &death.At
		}
	}
	return writeJSON(w, count)
}
