package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/config"
	"drawbridge/link"
	"drawbridge/spool"
)

// badFile is a file and the problems it must have, each as "line:column path: text", then " -> suggestion" if there is one.
type badFile struct {
	name, src string
	want      []string
}

const (
	peerA = "ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA"
	peerB = "BBCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA"
)

var peers = strings.NewReplacer(
	"PEER_A", "peer_id: "+peerA,
	"PEER_LOWER", "peer_id: "+strings.ToLower(peerA),
	"PEER_B", "peer_id: "+peerB,
)

func requireProblems(t *testing.T, files []badFile) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			c, err := config.Parse("f.yaml", []byte(peers.Replace(f.src)), nothingSet)
			var problems config.Errors
			if !errors.As(err, &problems) || c != nil {
				t.Fatalf("got %v and %v, want problems", c, err)
			}
			var got []string
			for _, p := range problems {
				line := fmt.Sprintf("%d:%d %s: %s", p.Line, p.Column, p.Path, p.Text)
				if p.Suggestion != "" {
					line += " -> " + p.Suggestion
				}
				got = append(got, line)
			}
			if !slices.Equal(got, f.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(f.want, "\n\t"))
			}
		})
	}
}

func nothingSet(string) (string, bool) { return "", false }

// good parses a file that must be right.
func good(t *testing.T, src string) *config.Config {
	t.Helper()
	c, err := config.Parse("f.yaml", []byte(peers.Replace(src)), nothingSet)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The contract's example, without the keys that later versions read.
func TestTheContractsExample(t *testing.T) {
	c := good(t, `
agent: fra-1                                  # default: the host's name
data_dir: /var/lib/drawbridge
listen:
  link: "[::]:4747"                           # UDP
  api: /run/drawbridge/api.sock
queues:
  orders:  { max_deliveries: 5, visibility_timeout: 1m }
  refunds: { max_message_bytes: 64KiB }
links:
  nyc:
    PEER_A
    addresses: [nyc-1.example.net:4747, 203.0.113.9:4747]
    send:    [{ from: orders, to: orders, retry_for: 72h }]
    receive: [{ to: refunds }]
`)
	pin, err := link.ParsePin(peerA)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		Agent:   "fra-1",
		DataDir: "/var/lib/drawbridge",
		Listen:  config.Listen{Link: "[::]:4747", API: "/run/drawbridge/api.sock"},
		Queues: map[string]spool.QueueOptions{
			"orders":  {MaxDeliveries: 5, VisibilityTimeout: time.Minute, MaxMessageBytes: 1 << 20},
			"refunds": {VisibilityTimeout: 30 * time.Second, MaxMessageBytes: 64 << 10},
		},
		Links: map[string]config.Link{"nyc": {
			PeerIDs:   []link.Pin{pin},
			Addresses: []string{"nyc-1.example.net:4747", "203.0.113.9:4747"},
			Send:      []config.Send{{From: "orders", To: "orders", Name: "nyc/orders", RetryFor: 72 * time.Hour}},
			Receive:   []config.Receive{{To: "refunds"}},
		}},
		LedgerMemoryBytes: 64 << 20,
		LedgerMaxBytes:    1 << 30,
		LedgerMaxWindow:   720 * time.Hour,
		Log:               config.Log{Level: "info", Format: "text"},
		ShutdownGrace:     30 * time.Second,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestFiveMistakesAreFiveProblems(t *testing.T) {
	requireProblems(t, []badFile{{"five mistakes", `agent: fra-1
listen:
  link: "[::]:4747"
queues:
  orders: { visibilty_timeout: 30s }
  refunds: { visibility_timeout: 30 }
  orders: {}
links:
  nyc:
    PEER_A
    addresses: [nyc-1.example.net:4747]
    send:    [{ from: ordres, to: orders, retry_fro: 72h }]`, []string{
		`5:13 queues.orders.visibilty_timeout: unknown key, allowed here: visibility_timeout, max_deliveries, retry, max_message_bytes, dedupe, engine -> visibility_timeout`,
		`6:34 queues.refunds.visibility_timeout: 30 has no unit, write 30s for seconds; units are w, d, h, m, s, ms`,
		`7:3 queues.orders: given twice, first in line 5`,
		"12:23 links.nyc.send[0].from: there is no queue \"ordres\" under `queues`, which holds: orders, refunds -> orders",
		`12:43 links.nyc.send[0].retry_fro: unknown key, allowed here: from, to, retry_for, name -> retry_for`,
	}}})
}

func TestProblemsReadWellInATerminal(t *testing.T) {
	_, err := config.Parse("drawbridge.yaml", []byte("agent: ä\nlog:\n  # ü\n  ä: {levle: ö}\n\tformat: x\nlog: { ümläüt: 1, format: yaml }\n"), nothingSet)
	want := `drawbridge.yaml:1:8: agent: agent name "ä": not allowed, use 1 to 64 letters, digits and . _ - and begin with a letter or digit
     1 | agent: ä
       |        ^
drawbridge.yaml:5:1: a tab in the indentation, YAML indents with spaces
     5 |  format: x
       | ^
drawbridge.yaml:6:8: log."ümläüt": unknown key, allowed here: level, format, levels
     6 | log: { ümläüt: 1, format: yaml }
       |        ^
drawbridge.yaml:6:27: log.format: "yaml" is not allowed, want one of: text, json
     6 | log: { ümläüt: 1, format: yaml }
       |                           ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestALongLineIsCutAroundTheCaret(t *testing.T) {
	src := "queues: {" + strings.Repeat("a: {}, ", 200) + "B: {}, " + strings.Repeat("c: {}, ", 200) + "}\nagent: a\n"
	_, err := config.Parse("f.yaml", []byte(src), nothingSet)
	for _, p := range err.(config.Errors) {
		line, caret, _ := strings.Cut(p.Excerpt, "\n")
		if len(line) > 120 {
			t.Fatalf("excerpt of %d characters: %s", len(line), line)
		}
		name := strings.TrimPrefix(p.Path, "queues.")
		if at := strings.Index(caret, "^"); line[at:at+1] != strings.Trim(name, `"`) {
			t.Fatalf("the caret of %s stands under %q:\n%s", p.Path, line[at:at+1], p.Excerpt)
		}
	}
}

func TestDefaultsApplyToQueuesThatSayNothingElse(t *testing.T) {
	c := good(t, "agent: a\ndefaults: {visibility_timeout: 1d, max_message_bytes: 1KiB}\nqueues:\n  a:\n  b: {visibility_timeout: 2s}\n")
	want := map[string]spool.QueueOptions{
		"a": {VisibilityTimeout: 24 * time.Hour, MaxMessageBytes: 1024},
		"b": {VisibilityTimeout: 2 * time.Second, MaxMessageBytes: 1024},
	}
	if !reflect.DeepEqual(c.Queues, want) {
		t.Errorf("got %+v, want %+v", c.Queues, want)
	}
	if names := c.QueueNames(); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names %v", names)
	}
}

// Text is what it looks like: names that YAML 1.1 took for numbers or truths stay names, and any line end is one.
func TestFormsThatAreAccepted(t *testing.T) {
	for name, src := range map[string]string{
		"byte order mark":     "\ufeffagent: a\nqueues: {on: {}, 2024: {}}\n",
		"CRLF":                "agent: a\r\nqueues:\r\n  on: {}\r\n  2024: {}\r\n",
		"CR":                  "agent: a\rqueues:\r  on: {}\r  2024: {}\r",
		"no line end":         "agent: a\nqueues: {on: {}, 2024: {}}",
		"document start, end": "---\nagent: a\nqueues: {'on': {}, \"2024\": {}}\n...\n",
		"tab after the colon": "agent:\ta\nqueues: {on: {}, 2024: {}}\n",
		"folded":              "agent: >-\n  a\nqueues: {on: {}, 2024: {}}\nlinks:\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c := good(t, src); c.Agent != "a" || !slices.Equal(c.QueueNames(), []string{"2024", "on"}) {
				t.Errorf("agent %q, queues %v", c.Agent, c.QueueNames())
			}
		})
	}
}

// The YAML parser takes host:port for a mapping in some lists; see glued.
func TestAddressesInBraces(t *testing.T) {
	c := good(t, "agent: a\nqueues: {o: {}}\nlinks: {nyc: {PEER_A, addresses: [h:1, 10.0.0.1:2, \"[::1]:3\", nyc.example:4], receive: [{to: o}]}}\n")
	want := []string{"h:1", "10.0.0.1:2", "[::1]:3", "nyc.example:4"}
	if got := c.Links["nyc"].Addresses; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoad(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := config.Load(missing); err == nil || err.Error() != missing+": there is no such file; `drawbridge init` writes one to begin with" {
		t.Errorf("missing file: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# large\n", 1<<18)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(large); err == nil || !strings.HasSuffix(err.Error(), "the file is larger than 1MiB") {
		t.Errorf("large file: %v", err)
	}
	if _, err := config.Load("/dev/zero"); err == nil || !strings.HasSuffix(err.Error(), "the file is larger than 1MiB") {
		t.Errorf("device without end: %v", err)
	}
}
