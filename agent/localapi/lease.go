package localapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

// Bounds of one lease call.
const (
	MaxLeaseMessages = 1000
	MaxWait          = 10 * time.Minute
	MaxVisibility    = 24 * time.Hour
)

// lease hands out deliveries, waiting for the first up to the wait option. A client that goes away while it waits costs no
// lease; one that goes away while its delivery is being committed gets it back when the lease has run out.
func (s *Server) lease(w http.ResponseWriter, r *http.Request) error {
	queue := r.PathValue("queue")
	if _, err := s.configured(queue); err != nil {
		return err
	}
	o := readOptions(r.URL, "max", "wait", "visibility")
	req := spool.LeaseRequest{
		Queue:      queue,
		Max:        int(o.number("max", 1, 1, MaxLeaseMessages)),
		Visibility: o.duration("visibility", time.Millisecond, MaxVisibility),
	}
	wait := o.duration("wait", 0, MaxWait)
	if o.err != nil {
		return o.err
	}
	if r.ContentLength != 0 {
		// An unread body would also hide a client's going away.
		return refuse(api.CodeMalformed, "lease takes no body; its options go into the query")
	}
	deliveries, err := s.await(r.Context(), req, wait)
	switch {
	case err != nil:
		return err
	case len(deliveries) == 0:
		w.WriteHeader(http.StatusNoContent)
		return nil
	case req.Max == 1:
		answerDelivery(w, queue, &deliveries[0])
		return nil
	}
	lines := make([]api.Delivery, len(deliveries))
	for i := range deliveries {
		d := &deliveries[i]
		lines[i] = api.Delivery{
			Message:     apiMessage(queue, d.Sequence, &d.Message),
			Receipt:     string(d.Receipt),
			LeaseMillis: d.Deadline.Milliseconds(),
		}
	}
	return writeLines(w, http.StatusOK, lines)
}

// await leases what is ready, or waits for it. It returns nothing when the time is up or the agent stops.
func (s *Server) await(ctx context.Context, req spool.LeaseRequest, wait time.Duration) ([]spool.Delivery, error) {
	if wait == 0 {
		return s.store.Lease(ctx, req)
	}
	// Watch before the first look: what comes between look and wait is then not missed.
	ready, unwatch := s.store.Watch(req.Queue)
	defer unwatch()
	up := time.NewTimer(wait)
	defer up.Stop()
	for {
		deliveries, err := s.store.Lease(ctx, req)
		if err != nil || len(deliveries) > 0 {
			return deliveries, err
		}
		select {
		case <-ready:
		case <-up.C:
			return nil, nil
		case <-s.stopping:
			return nil, nil
		case <-ctx.Done():
		}
		if err := context.Cause(ctx); err != nil {
			return nil, refuse(api.CodeRefused, "the client went away: %v", err)
		}
	}
}

// answerDelivery hands out one message as a raw body, all else in headers.
func answerDelivery(w http.ResponseWriter, queue string, d *spool.Delivery) {
	h := w.Header()
	for _, e := range d.Headers {
		h.Set(api.HeaderPrefix+e.Name, e.Value)
	}
	h.Set(api.HeaderID, d.ID)
	h.Set(api.HeaderQueue, queue)
	h.Set(api.HeaderReceipt, string(d.Receipt))
	h.Set(api.HeaderSequence, strconv.FormatUint(d.Sequence, 10))
	h.Set(api.HeaderDeliveries, strconv.FormatUint(uint64(d.Deliveries), 10))
	h.Set(api.HeaderOrigin, d.Origin)
	h.Set(api.HeaderPriority, strconv.Itoa(int(d.Priority)))
	if d.Key != "" {
		h.Set(api.HeaderKey, d.Key)
	}
	h.Set(api.HeaderQoS, d.QoS.String())
	h.Set(api.HeaderStoredAt, d.StoredAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	h.Set(api.HeaderLeaseMillis, strconv.FormatInt(d.Deadline.Milliseconds(), 10))
	if d.Death != nil {
		h.Set(api.HeaderDeath, deathText(d.Death))
	}
	h.Set("Content-Type", api.TypeBytes)
	h.Set("Content-Length", strconv.Itoa(len(d.Body)))
	_, _ = w.Write(d.Body) // a consumer that has gone gets it again when the lease has run out
}

func apiMessage(queue string, sequence uint64, m *message.Message) api.Message {
	return api.Message{
		ID:         m.ID,
		Queue:      queue,
		Sequence:   sequence,
		Origin:     m.Origin,
		Priority:   m.Priority,
		Key:        m.Key,
		QoS:        m.QoS.String(),
		StoredAt:   m.StoredAt.UTC(),
		Headers:    headerMap(m.Headers),
		Deliveries: m.Deliveries,
		Death:      apiDeath(m.Death),
		Body:       api.NewBody(m.Body),
	}
}

func apiDeath(d *message.Death) *api.Death {
	if d == nil {
		return nil
	}
	return &api.Death{Reason: string(d.Reason), Text: d.Text, Queue: d.Queue, Route: d.Route, Deliveries: d.Deliveries, At: d.At}
}

// deathText is a death as one line, which a header can carry whatever the text says.
func deathText(d *message.Death) string {
	text, err := json.Marshal(apiDeath(d))
	if err != nil {
		panic(err) // strings, a number and a time of this age always marshal
	}
	return string(text)
}
