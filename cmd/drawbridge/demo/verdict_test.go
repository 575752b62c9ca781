package demo_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"drawbridge/cmd/drawbridge/demo"
	"drawbridge/message/history"
)

func good() demo.Verdict {
	return demo.Verdict{
		Findings:       history.Findings{Stored: 20000, Delivered: 20000, Redelivered: 3},
		PacketsDropped: 812, Outages: 2, KillsOfA: 1, KillsOfB: 1,
		Seconds: 14.26, MessagesPerSecond: 1402.5, LatencyP50: 31.04, LatencyP99: 4210.9,
	}
}

func TestVerdictIsOneNameAndValueALine(t *testing.T) {
	var b strings.Builder
	if err := good().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `stored           20000
delivered        20000
lost             0
doubled          0
out of order     0
corrupt          0
redelivered      3
packets dropped  812
outages          2
kills of A       1
kills of B       1
seconds          14.3
messages/s       1402
latency p50      31.0ms
latency p99      4210.9ms
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestVerdictFailsForEachReason(t *testing.T) {
	if !good().OK() {
		t.Error("a good verdict is not ok")
	}
	for name, spoil := range map[string]func(v *demo.Verdict){
		"lost":         func(v *demo.Verdict) { v.Lost = 1 },
		"doubled":      func(v *demo.Verdict) { v.Doubled = 1 },
		"out of order": func(v *demo.Verdict) { v.OutOfOrder = 1 },
		"corrupt":      func(v *demo.Verdict) { v.Corrupt = 1 },
		"invented":     func(v *demo.Verdict) { v.Invented = 1 },
		"missed":       func(v *demo.Verdict) { v.Missed = []string{"kill of B at 50 %: A waited for no answer"} },
		"stopped":      func(v *demo.Verdict) { v.Stopped = "nothing was delivered for 20s" },
	} {
		v := good()
		spoil(&v)
		if v.OK() {
			t.Errorf("%s: ok", name)
		}
		var b strings.Builder
		if err := v.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("\n"+b.String(), "\n"+name+" ") {
			t.Errorf("%s: not told in\n%s", name, b.String())
		}
	}
}

func TestVerdictAsJSON(t *testing.T) {
	b, err := json.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"stored":20000,"delivered":20000,"lost":0,"doubled":0,"out_of_order":0,"corrupt":0,"redelivered":3,` +
		`"packets_dropped":812,"outages":2,"kills_of_a":1,"kills_of_b":1,"seconds":14.26,"messages_per_second":1402.5,` +
		`"latency_p50_ms":31.04,"latency_p99_ms":4210.9}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestVerdictTellsThatItCouldNotBeWritten(t *testing.T) {
	if err := good().WriteText(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
