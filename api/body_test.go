package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"drawbridge/api"
)

func TestBodySurvivesJSONWhateverItsBytes(t *testing.T) {
	for _, body := range [][]byte{nil, []byte("plain"), []byte("ünï\u2028\x00<&>"), {0xff, 0x00, 0xfe}} {
		line, err := json.Marshal(api.PutLine{ID: "a", Body: api.NewBody(body)})
		if err != nil {
			t.Fatal(err)
		}
		var back api.PutLine
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		got, err := back.Bytes()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !bytes.Equal(got, body) {
			t.Errorf("%s: body %q came back as %q", line, body, got)
		}
	}
}

func TestTextStaysReadable(t *testing.T) {
	line, err := json.Marshal(api.Delivery{Message: api.Message{Body: api.NewBody([]byte("hello"))}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(line), `"body":"hello"`) {
		t.Errorf("no readable body in %s", line)
	}
}

func TestTwoBodiesAreRefused(t *testing.T) {
	var line api.PutLine
	if err := json.Unmarshal([]byte(`{"body":"a","body_base64":"Yg=="}`), &line); err != nil {
		t.Fatal(err)
	}
	if _, err := line.Bytes(); !errors.Is(err, api.ErrTwoBodies) {
		t.Errorf("Bytes: %v, want %v", err, api.ErrTwoBodies)
	}
}
