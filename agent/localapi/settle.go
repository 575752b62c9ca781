package localapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"drawbridge/api"
	"drawbridge/spool"
)

// MaxDelay is the longest that a message that is given back may be told to wait.
const MaxDelay = 30 * 24 * time.Hour

func (s *Server) ack(w http.ResponseWriter, r *http.Request) error {
	return s.settle(w, r, settling{act: spool.Ack})
}

func (s *Server) nack(w http.ResponseWriter, r *http.Request) error {
	return s.settle(w, r, settling{act: spool.Nack, takes: []string{"delay", "text"}})
}

func (s *Server) extend(w http.ResponseWriter, r *http.Request) error {
	return s.settle(w, r, settling{act: spool.Extend, takes: []string{"visibility"}})
}

func (s *Server) bury(w http.ResponseWriter, r *http.Request) error {
	return s.settle(w, r, settling{act: spool.Bury, takes: []string{"text"}})
}

// settling is what one of these calls does with deliveries, and what may be said to it: in the query for all of them, in a
// line for one.
type settling struct {
	act   spool.Act
	takes []string
}

// settle does it and answers one verdict a line, in the order of the receipts.
func (s *Server) settle(w http.ResponseWriter, r *http.Request, how settling) error {
	o := readOptions(r.URL, how.takes...)
	common := api.ReceiptLine{Delay: o.text("delay"), Visibility: o.text("visibility"), Text: o.text("text")}
	if _, err := how.settlement(common); err != nil {
		o.fail("%v", err)
	}
	if o.err != nil {
		return o.err
	}
	lines, err := readReceipts(w, r)
	if err != nil {
		return err
	}
	settlements := make([]spool.Settlement, len(lines))
	for i, line := range lines {
		if settlements[i], err = how.settlement(fill(line, common)); err != nil {
			return refuse(api.CodeMalformed, "receipt %d: %v", i+1, err)
		}
	}
	settled, err := s.store.Settle(r.Context(), settlements)
	if err != nil {
		return err
	}
	results := make([]api.ReceiptResult, len(lines))
	for i := range settled {
		if results[i], err = how.result(lines[i].Receipt, settled[i]); err != nil {
			return err
		}
	}
	return writeLines(w, http.StatusOK, results)
}

// fill returns line with what it leaves open taken from common.
func fill(line, common api.ReceiptLine) api.ReceiptLine {
	if line.Delay == "" {
		line.Delay = common.Delay
	}
	if line.Visibility == "" {
		line.Visibility = common.Visibility
	}
	if line.Text == "" {
		line.Text = common.Text
	}
	return line
}

// settlement returns what a line asks for. A setting that belongs to another call is an error, because it would do nothing here.
func (how settling) settlement(line api.ReceiptLine) (spool.Settlement, error) {
	w := spool.Settlement{Receipt: spool.Receipt(line.Receipt), Act: how.act, Text: line.Text}
	for _, setting := range []struct{ name, value string }{{"delay", line.Delay}, {"visibility", line.Visibility}, {"text", line.Text}} {
		if setting.value != "" && !slices.Contains(how.takes, setting.name) {
			return w, fmt.Errorf("%s belongs to another call", setting.name)
		}
	}
	delay, err := parseDuration(line.Delay, 0, MaxDelay)
	if err != nil {
		return w, fmt.Errorf("delay=%w", err)
	}
	visibility, err := parseDuration(line.Visibility, time.Millisecond, MaxVisibility)
	if err != nil {
		return w, fmt.Errorf("visibility=%w", err)
	}
	switch {
	case how.act == spool.Extend:
		w.After = visibility
	case line.Delay != "" && delay == 0:
		w.After = -1 // a delay of nothing is said otherwise than no delay
	default:
		w.After = delay
	}
	return w, nil
}

// result says what became of one receipt.
func (how settling) result(receipt string, settled spool.Settled) (api.ReceiptResult, error) {
	res := api.ReceiptResult{Receipt: receipt}
	switch err := settled.Err; {
	case errors.Is(err, spool.ErrAlreadySettled):
		res.Verdict = api.AlreadySettled
	case errors.Is(err, spool.ErrStaleReceipt):
		res.Verdict = api.Stale
	case errors.Is(err, spool.ErrBadReceipt):
		res.Verdict = api.BadReceipt
	case err != nil:
		return res, fmt.Errorf("settle: %w", err)
	case how.act == spool.Ack:
		res.Verdict = api.Acked
	case how.act == spool.Bury:
		res.Verdict = api.Buried
	case how.act == spool.Extend:
		res.Verdict, res.LeaseMillis = api.Extended, new(settled.Left.Milliseconds())
	case settled.Died:
		res.Verdict = api.Died
	default:
		res.Verdict, res.WaitMillis = api.Nacked, new(settled.Left.Milliseconds())
	}
	return res, nil
}
