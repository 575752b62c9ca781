package spooltest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"drawbridge/message"
	"drawbridge/spool"
)

func puts() []testCase {
	small := map[string]spool.QueueOptions{"orders": {MaxMessageBytes: 4}}
	two := map[string]spool.QueueOptions{"orders": {}, "refunds": {}}
	return []testCase{
		{name: "what was put is leased as it was put", run: func(s *store) {
			headers := message.NewHeaders(map[string]string{"traceparent": "00-1-2-03", "kind": "test"})
			p := spool.Put{Queue: "orders", ID: "a", Priority: 7, Key: "k", QoS: message.AtMostOnce, Headers: headers, Body: []byte("hello")}
			if r := s.put(p)[0]; r.ID != "a" || r.Status != spool.Stored || r.Sequence != 1 || r.Err != nil {
				s.t.Fatalf("put: %+v", r)
			}
			d := s.requireLeased(9, "a")[0]
			if d.Priority != 7 || d.Key != "k" || d.QoS != message.AtMostOnce || !slices.Equal(d.Headers, headers) || string(d.Body) != "hello" {
				s.t.Errorf("leased: %+v", d)
			}
		}},
		{name: "the store names origin, time and checksum", run: func(s *store) {
			s.skew.Store(int64(42 * time.Minute))
			s.fill("a")
			d := s.lease(1)[0]
			if d.Origin != "fra-1" || d.BodyBytes != 1 || d.BodySum != message.Checksum([]byte("a")) || !d.StoredAt.Equal(s.wall()) || d.StoredAt.Location() != time.UTC {
				s.t.Errorf("leased: %+v", d)
			}
		}},
		{name: "an id is minted for a message without one", run: func(s *store) {
			r := s.put(orderOf("", "x"), orderOf("", "x"))
			if message.CheckID(r[0].ID) != nil || r[0].ID == r[1].ID || r[1].Status != spool.Stored {
				s.t.Errorf("put: %+v", r)
			}
			s.requireLeased(9, r[0].ID, r[1].ID)
		}},
		{name: "the caller may write to its body afterwards", run: func(s *store) {
			body := []byte("before")
			headers := message.Headers{{Name: "kind", Value: "before"}}
			s.put(spool.Put{Queue: "orders", Priority: lane, Headers: headers, Body: body})
			copy(body, "AFTER!")
			headers[0].Value = "after"
			if d := s.lease(1)[0]; string(d.Body) != "before" || d.Headers[0].Value != "before" {
				s.t.Errorf("stored %q, %v", d.Body, d.Headers)
			}
		}},
		{name: "a consumer may write to what it was handed", run: func(s *store) {
			s.fill("abc")
			copy(s.lease(1)[0].Body, "XXX")
			copy(s.peek("orders", 0, 1)[0].Body, "YYY")
			s.pass(spool.DefaultVisibilityTimeout)
			if d := s.lease(1)[0]; string(d.Body) != "abc" {
				s.t.Errorf("handed out again: %q", d.Body)
			}
		}},
		{name: "an empty body is a body", run: func(s *store) {
			s.requirePut(spool.Put{Queue: "orders", ID: "a"}, spool.Stored)
			if d := s.lease(1); len(d) != 1 || len(d[0].Body) != 0 || d[0].Priority != 0 {
				s.t.Errorf("leased: %+v", d)
			}
		}},
		{name: "one refusal does not hinder the others", queues: small, run: func(s *store) {
			r := s.put(orderOf("fits", "1234"), orderOf("big", "12345"), orderOf("last", ""))
			if r[0].Status != spool.Stored || r[1].Status != spool.Rejected || r[2].Status != spool.Stored {
				s.t.Errorf("put: %+v", r)
			}
			s.requireLeased(9, "fits", "last")
		}},
		{name: "a body above the limit is too large", queues: small, run: func(s *store) {
			requireIs(s.t, "put", s.requirePut(orderOf("big", "12345"), spool.Rejected).Err, spool.ErrTooLarge)
			s.requireMessages(0)
		}},
		{name: "a queue that is not configured takes nothing", run: func(s *store) {
			requireIs(s.t, "put", s.requirePut(spool.Put{Queue: "none", ID: "a"}, spool.Rejected).Err, spool.ErrNoQueue)
		}},
		{name: "what breaks a limit of names is malformed", run: func(s *store) {
			for what, p := range map[string]spool.Put{
				"id":       {Queue: "orders", ID: "with space"},
				"priority": {Queue: "orders", Priority: 10},
				"key":      {Queue: "orders", Key: strings.Repeat("k", message.MaxKeyBytes+1)},
				"header":   {Queue: "orders", Headers: message.Headers{{Name: "Upper"}}},
				"order":    {Queue: "orders", Headers: message.Headers{{Name: "b"}, {Name: "a"}}},
			} {
				requireIs(s.t, what, s.requirePut(p, spool.Rejected).Err, spool.ErrMalformed)
			}
			s.requireMessages(0)
		}},
		{name: "a refused id is free", queues: small, run: func(s *store) {
			s.requirePut(orderOf("a", "12345"), spool.Rejected)
			s.requirePut(orderOf("a", "1234"), spool.Stored)
		}},
		{name: "queues are apart", queues: two, run: func(s *store) {
			s.fill("a")
			for _, id := range []string{"a", "b"} {
				s.requirePut(spool.Put{Queue: "refunds", ID: id, Priority: lane, Body: []byte(id)}, spool.Stored)
			}
			s.requireLeased(9, "a")
			if q := s.stats("refunds"); q.Messages != 2 || q.Leased != 0 {
				s.t.Errorf("refunds: %+v", q)
			}
			if n := len(s.peek("refunds", 0, 9)); n != 2 {
				s.t.Errorf("refunds has %d", n)
			}
		}},
		{name: "putting nothing is no error", run: func(s *store) {
			if r := s.put(); len(r) != 0 {
				s.t.Errorf("put: %+v", r)
			}
		}},
		{name: "a put that is cut off is unknown", run: func(s *store) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("the client went")
			cancel(cause)
			_, err := s.Put(ctx, []spool.Put{orderOf("a", "x")})
			requireIs(s.t, "put", err, spool.ErrUnknown)
			requireIs(s.t, "put", err, cause)
			synctest.Wait()
			if r := s.put(orderOf("a", "x"))[0]; r.Status != spool.Stored && r.Status != spool.Duplicate || r.Sequence != 1 {
				s.t.Errorf("put again: %+v", r)
			}
		}},
	}
}
