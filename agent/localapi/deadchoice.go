package localapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"

	"drawbridge/api"
	"drawbridge/spool"
)

// Bounds of a list of dead letters in one call. Those that a filter chooses may be any number.
const (
	MaxDeadSequences = 10_000
	maxDeadListBytes = 1 << 20
)

// choice is the dead letters that a requeue or a purge is about: those of a list, or those that a filter lets through.
type choice struct {
	list   []uint64 // in order; nil for a filter
	filter deadFilter
	most   uint64 // how many of those that a filter lets through
}

// choiceOptions are the query options of a choice.
var choiceOptions = append([]string{"all", "max"}, filterOptions...)

// readChoice reads the sequences in the body, or the filter in the query. Without both it is a refusal unless the query says
// that all are meant: an empty list must not be taken for everything.
func readChoice(w http.ResponseWriter, r *http.Request, o *options) (choice, error) {
	c := choice{
		filter: readDeadFilter(o),
		most:   o.number("max", math.MaxUint64, 1, math.MaxUint64),
	}
	all := o.yes("all")
	if o.err != nil {
		return c, o.err
	}
	body, err := readBody(w, r, maxDeadListBytes)
	if err != nil {
		return c, err
	}
	if c.list, err = parseSequences(mediaType(r), body); err != nil {
		return c, err
	}
	listed := len(c.list) > 0
	filtered := slices.ContainsFunc(filterOptions, o.values.Has)
	switch {
	case listed && (filtered || all || o.values.Has("max")):
		return c, refuse(api.CodeBadOption, "sequences in the body leave nothing to choose: leave out all, max and every filter")
	case filtered && all:
		return c, refuse(api.CodeBadOption, "all=true beside a filter: leave out one of them")
	case !listed && !filtered && !all:
		return c, refuse(api.CodeBadOption, "no sequence in the body and no filter in the query; if every dead letter of the queue is meant, say all=true")
	}
	return c, nil
}

// parseSequences reads a list in whichever form it comes, like parseReceipts, and sorts it: what died first lives first again.
func parseSequences(mediaType string, body []byte) (list []uint64, err error) {
	var lines [][]byte
	switch mediaType {
	case api.TypeJSON:
		if len(bytes.TrimSpace(body)) == 0 {
			return nil, nil
		}
		var values []json.RawMessage
		if err := decodeLine(body, &values); err != nil {
			return nil, err
		}
		for _, v := range values {
			lines = append(lines, v)
		}
	default:
		lines = nonEmptyLines(body)
	}
	if len(lines) > MaxDeadSequences {
		return nil, refuse(api.CodeTooLarge, "more than %d sequences; a filter may choose any number", MaxDeadSequences)
	}
	for i, line := range lines {
		sequence, err := parseSequence(bytes.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("sequence %d: %w", i+1, err)
		}
		list = append(list, sequence)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// parseSequence reads a number or an object around it.
func parseSequence(line []byte) (uint64, error) {
	if len(line) > 0 && line[0] == '{' {
		var l api.DeadLine
		err := decodeLine(line, &l)
		return l.Sequence, err
	}
	sequence, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil {
		return 0, refuse(api.CodeMalformed, "%q is no sequence; send one number a line", clip(string(line)))
	}
	return sequence, nil
}

// looked is one place that was looked at: that of a dead letter that is chosen or passed over, or of a listed one that is gone.
type looked struct {
	sequence uint64
	chosen   bool
	letter   *spool.Peeked // nil if it was not there
}

// look goes through the places up to a sequence in their order. An error is the last. It yields what a filter passes over too,
// so that whoever waits hears that the search goes on.
func (s *Server) look(ctx context.Context, dead string, c *choice, through uint64) iter.Seq2[looked, error] {
	if c.list != nil {
		return s.lookUp(ctx, dead, c.list)
	}
	return func(yield func(looked, error) bool) {
		left := c.most
		for p, err := range s.scanDead(ctx, dead, c.filter.from) {
			if err != nil {
				yield(looked{}, err)
				return
			}
			if p.Sequence > through || left == 0 {
				return
			}
			chosen := c.filter.matches(p)
			if chosen {
				left--
			}
			if !yield(looked{p.Sequence, chosen, p}, nil) {
				return
			}
		}
	}
}

func (s *Server) lookUp(ctx context.Context, dead string, list []uint64) iter.Seq2[looked, error] {
	return func(yield func(looked, error) bool) {
		for _, sequence := range list {
			found, err := s.store.Peek(ctx, dead, sequence, 1)
			l := looked{sequence: sequence, chosen: true}
			if len(found) > 0 && found[0].Sequence == sequence {
				l.letter = &found[0]
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}
