package localapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"drawbridge/agent/localapi"
	"drawbridge/agent/logging"
	"drawbridge/api"
)

func TestLevelsOfTheLogChangeByCall(t *testing.T) {
	log := logging.New(logging.Options{Output: new(strings.Builder), Level: hclog.Info, Parts: []string{"link", "spool"}})
	defer log.Close()
	server := localapi.New(nil, localapi.Options{Log: log.Logger(), LogLevels: log})
	for _, c := range []struct {
		method, query string
		status        int
		says          string
	}{
		{"GET", "", 200, `{"levels":{"link":"info","spool":"info"}}`},
		{"PUT", "?level=debug&part=link", 200, `{"levels":{"link":"debug","spool":"info"}}`},
		{"PUT", "?level=warn", 200, `{"levels":{"link":"warn","spool":"warn"}}`},
		{"PUT", "?level=default", 200, `{"levels":{"link":"info","spool":"info"}}`},
		{"PUT", "", 400, "use one of trace, debug"},
		{"PUT", "?level=debug&part=lnik", 400, "use one of link, spool"},
		{"PUT", "?level=debug&prat=link", 400, "unknown here"},
		{"GET", "?level=debug", 400, "unknown here"},
		{"POST", "?level=debug", 405, "takes"},
		{"GET", "", 200, `{"levels":{"link":"info","spool":"info"}}`},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(c.method, "/v1/log"+c.query, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.query, w.Code, w.Body)
		}
	}
}

func TestALogThatCannotChangeSaysSo(t *testing.T) {
	server := localapi.New(nil, localapi.Options{Log: hclog.NewNullLogger()})
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(method, "/v1/log", nil))
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code != api.CodeNoSuchCall {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
}
