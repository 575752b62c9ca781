package config_test

import (
	"testing"

	"drawbridge/config"
)

func TestVariables(t *testing.T) {
	env := map[string]string{"HOST": "fra-1", "EMPTY": "", "TRICKY": "/x\nqueues: {evil: {}} # ${HOST}", "_x1": "y"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, tt := range []struct{ written, want string }{
		{`/${HOST}`, "/fra-1"},
		{`/${HOST}/${_x1}/`, "/fra-1/y"},
		{`"/${HOST}"`, "/fra-1"},
		{`'/${HOST}'`, "/fra-1"},
		{`/${NONE:-a b}`, "/a b"},
		{`/${NONE:-}`, "/"},
		{`/${EMPTY:-x}`, "/x"},
		{`/${EMPTY}x`, "/x"},
		{`/$${HOST}`, "/${HOST}"},
		{`/$$$${HOST}$$`, "/$${HOST}$"},
		{`${TRICKY}`, env["TRICKY"]},
	} {
		c, err := config.Parse("f.yaml", []byte("agent: a\ndata_dir: "+tt.written+"\n"), lookup)
		if err != nil {
			t.Errorf("%s: %v", tt.written, err)
			continue
		}
		if c.DataDir != tt.want || len(c.Queues) != 0 {
			t.Errorf("%s: got %q and queues %v, want %q", tt.written, c.DataDir, c.QueueNames(), tt.want)
		}
	}
}

func TestVariablesInEveryKindOfValue(t *testing.T) {
	env := map[string]string{"GRACE": "1m", "MEMORY": "2MiB", "LEVEL": "debug", "LINK": ":7", "PEER": peerA, "QUEUE": "o", "RETRY": "1d", "ADDRESS": "h:1"}
	c, err := config.Parse("f.yaml", []byte(`agent: a
shutdown_grace: ${GRACE}
ledger_memory: ${MEMORY}
ledger_max_bytes: 32MiB
log: { level: "${LEVEL}" }
listen: { link: "${LINK}" }
queues: { o: {} }
links:
  nyc:
    peer_id: ${PEER}
    addresses:
      - ${ADDRESS}
    send:
      - from: ${QUEUE}
        to: ${QUEUE}
        retry_for: ${RETRY}
`), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	l := c.Links["nyc"]
	if c.ShutdownGrace.Minutes() != 1 || c.LedgerMemoryBytes != 2<<20 || c.LedgerMaxBytes != 32<<20 || c.Log.Level != "debug" || c.Listen.Link != ":7" ||
		l.PeerIDs[0].String() != peerA || l.Addresses[0] != "h:1" || l.Send[0].From != "o" || l.Send[0].RetryFor.Hours() != 24 {
		t.Errorf("got %+v", c)
	}
}

// An empty variable must not become an empty name or path.
func TestAVariableSetToNothingIsAnEmptyValue(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte("agent: ${A}\n"), func(name string) (string, bool) { return "", name == "A" })
	if err == nil || err.(config.Errors)[0].Text != "is empty; give it a value or remove the key" {
		t.Errorf("got %v", err)
	}
}
