package localapi

import (
	"net/http"

	"drawbridge/api"
)

// LogLevels are the levels of a log that can be changed while the agent runs.
type LogLevels interface {
	// Levels returns the present level of every part.
	Levels() map[string]string
	// SetLevel changes one part, or all if the name is empty. An error says what is allowed, and that nothing was changed.
	SetLevel(part, level string) error
}

func (s *Server) log(w http.ResponseWriter, r *http.Request) error {
	if o := readOptions(r.URL); o.err != nil {
		return o.err
	}
	return s.writeLog(w)
}

// setLog lets an operator look closer without a restart, which would end what there is to be seen.
func (s *Server) setLog(w http.ResponseWriter, r *http.Request) error {
	o := readOptions(r.URL, "level", "part")
	if o.err == nil && s.opts.LogLevels != nil {
		if err := s.opts.LogLevels.SetLevel(o.text("part"), o.text("level")); err != nil {
			o.fail("%v", err)
		}
	}
	if o.err != nil {
		return o.err
	}
	return s.writeLog(w)
}

func (s *Server) writeLog(w http.ResponseWriter) error {
	if s.opts.LogLevels == nil {
		return refuse(api.CodeNoSuchCall, "the log's levels are fixed: this agent was started without a log that can change")
	}
	return writeJSON(w, api.Log{Levels: s.opts.LogLevels.Levels()})
}
