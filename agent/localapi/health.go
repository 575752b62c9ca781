package localapi

import (
	"net/http"
	"strings"

	"drawbridge/api"
)

// livez says that the process answers, and nothing more: a supervisor that restarts on it must not do so for a full disk.
func (s *Server) livez(w http.ResponseWriter, r *http.Request) error { return alive(w, r) }

// readyz says whether messages are taken, and why not.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-s.stopping:
		return refuse(api.CodeStopping, "the agent was told to stop")
	default:
		return writeReady(w, s.opts.Health())
	}
}

// health says how every part is. Its status is 200 whatever it says: who acts on a status asks readyz.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, s.opts.Health())
}

func alive(w http.ResponseWriter, _ *http.Request) error { return writeText(w, "alive\n") }

func writeReady(w http.ResponseWriter, h api.Health) error {
	if !h.Ready {
		return refuse(api.CodeNotReady, "the agent takes no messages: %s", strings.Join(h.Reasons, "; "))
	}
	return writeText(w, "ready\n")
}
