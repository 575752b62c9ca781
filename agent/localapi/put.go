package localapi

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

// put stores one message under the id in the path.
func (s *Server) put(w http.ResponseWriter, r *http.Request) error {
	return s.putOne(w, r, r.PathValue("id"))
}

// post stores one message whose id is the Idempotency-Key or minted, or a batch.
func (s *Server) post(w http.ResponseWriter, r *http.Request) error {
	if mediaType(r) == api.TypeNDJSON {
		return s.putBatch(w, r)
	}
	return s.putOne(w, r, r.Header.Get(api.HeaderIdempotencyKey))
}

func (s *Server) putOne(w http.ResponseWriter, r *http.Request, id string) error {
	queue := r.PathValue("queue")
	opts, err := s.configured(queue)
	if err != nil {
		return err
	}
	o := readOptions(r.URL, "priority", "key", "qos")
	p := spool.Put{
		Queue:    queue,
		ID:       id,
		Priority: uint8(o.number("priority", message.DefaultPriority, 0, message.MaxPriority)),
		Key:      o.text("key"),
		QoS:      o.qos("qos"),
	}
	if o.err != nil {
		return o.err
	}
	if err := checkText("key", p.Key); err != nil {
		return err
	}
	if p.Headers, err = messageHeaders(r.Header); err != nil {
		return err
	}
	if p.Body, err = readBody(w, r, opts.MaxMessageBytes); err != nil {
		return err
	}
	results, err := s.store.Put(r.Context(), []spool.Put{p})
	if err != nil {
		return err
	}
	return answerPut(w, results[0])
}

// answerPut writes the answer to one message by hand: it is the hot path, and an id holds nothing that JSON escapes in
// another way than Go does.
func answerPut(w http.ResponseWriter, res spool.PutResult) error {
	status, verdict := http.StatusCreated, api.VerdictStored
	switch res.Status {
	case spool.Stored:
	case spool.Duplicate:
		status, verdict = http.StatusOK, api.VerdictDuplicate
	case spool.DuplicateDead:
		status, verdict = http.StatusOK, api.VerdictDuplicateDead
	default:
		return res.Err
	}
	sequence := strconv.FormatUint(res.Sequence, 10)
	h := w.Header()
	h.Set(api.HeaderID, res.ID)
	h.Set(api.HeaderSequence, sequence)
	h.Set("Content-Type", api.TypeJSON)
	w.WriteHeader(status)
	body := make([]byte, 0, 256)
	body = append(body, `{"id":`...)
	body = strconv.AppendQuote(body, res.ID)
	body = append(body, `,"verdict":"`...)
	body = append(body, verdict...)
	body = append(body, `","sequence":`...)
	body = append(body, sequence...)
	_, _ = w.Write(append(body, "}\n"...)) // a producer that has gone retries with the same id
	return nil
}

// configured returns the options of a queue, or why there is no such queue. A queue of dead letters has those of its queue.
func (s *Server) configured(queue string) (spool.QueueOptions, error) {
	if opts, ok := s.opts.Queue(strings.TrimSuffix(queue, message.DeadSuffix)); ok {
		if opts.MaxMessageBytes == 0 {
			opts.MaxMessageBytes = message.DefaultMessageBytes
		}
		return opts, nil
	}
	if err := message.CheckQueue(queue); err != nil {
		return spool.QueueOptions{}, err
	}
	return spool.QueueOptions{}, fmt.Errorf("queue %q: %w", queue, spool.ErrNoQueue)
}

func mediaType(r *http.Request) string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
