package localapi

import (
	"encoding/json"
	"net/http"

	"drawbridge/api"
	"drawbridge/spool"
)

func (s *Server) queues(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	queues := []api.Queue{}
	for _, stats := range s.store.Stats() {
		queues = append(queues, apiQueue(stats))
	}
	return writeJSON(w, queues)
}

func (s *Server) queue(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	name := r.PathValue("queue")
	for _, stats := range s.store.Stats() {
		if stats.Name == name {
			return writeJSON(w, apiQueue(stats))
		}
	}
	return refuse(api.CodeNoSuchQueue, "queue %q: no such queue", clip(name))
}

func apiQueue(q spool.QueueStats) api.Queue {
	return api.Queue{
		Name:            q.Name,
		Messages:        q.Messages,
		Bytes:           q.Bytes,
		Leased:          q.Leased,
		Waiting:         q.Waiting,
		InDoubt:         q.InDoubt,
		OldestAgeMillis: q.OldestAge.Milliseconds(),
		Stored:          q.Stored,
		Duplicates:      q.Duplicates,
		Acked:           q.Acked,
		Settled:         q.Settled,
		Accepted:        q.Accepted,
		Buried:          q.Buried,
		Route:           q.Route,
	}
}

func (s *Server) links(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	links := s.opts.Links()
	if links == nil {
		links = []api.Link{}
	}
	return writeJSON(w, links)
}

func (s *Server) link(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	name := r.PathValue("link")
	for _, link := range s.opts.Links() {
		if link.Name == name {
			return writeJSON(w, link)
		}
	}
	return refuse(api.CodeNoSuchLink, "link %q: no such link", clip(name))
}

func (s *Server) info(w http.ResponseWriter, r *http.Request) error {
	id := s.store.Identity()
	return writeJSON(w, api.Info{
		Agent:     s.opts.Agent,
		Version:   s.opts.Version,
		Spool:     id.Spool.String(),
		Epoch:     id.Epoch.String(),
		StartedAt: s.started.UTC(),
	})
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", api.TypeJSON)
	_, _ = w.Write(append(body, '\n')) // who no longer listens needs no answer
	return nil
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", api.TypeText+"; charset=utf-8")
	_, _ = w.Write([]byte(text))
	return nil
}
