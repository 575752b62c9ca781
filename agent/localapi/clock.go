package localapi

import (
	"fmt"
	"net/http"
)

// acceptClock accepts a jump of time that the spool has found at its start.
func (s *Server) acceptClock(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	if err := s.store.AcceptTime(r.Context()); err != nil {
		return fmt.Errorf("accept the clock: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
