package protocol_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"drawbridge/message"
	"drawbridge/message/pack"
	"drawbridge/protocol"
)

// example finds the hex blocks of docs/protocol.md; in a line, what stands behind # is for people.
var example = regexp.MustCompile("(?ms)^```hex ([a-z-]+)\n(.*?)^```$")

func TestTheDocumentShowsTheGoldenBytes(t *testing.T) {
	doc := readDoc(t)
	want := map[string][]byte{}
	for _, name := range []string{"record", "record-dead"} {
		want[name] = readHex(t, "../../message/testdata/"+name)
	}
	for name := range goldens() {
		want[name] = readHex(t, name)
	}
	for _, block := range example.FindAllStringSubmatch(doc, -1) {
		name := block[1]
		if want[name] == nil {
			t.Errorf("the example %q stands there twice or belongs to no frame", name)
			continue
		}
		if got := parseExample(t, name, block[2]); !bytes.Equal(got, want[name]) {
			t.Errorf("the example %q is\n%x, the golden bytes are\n%x", name, got, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("no example %q", name)
	}
}

func parseExample(t *testing.T, name, text string) (b []byte) {
	t.Helper()
	for line := range strings.Lines(text) {
		digits, _, _ := strings.Cut(line, "#")
		part, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatalf("the example %q has the line %q: %v", name, line, err)
		}
		b = append(b, part...)
	}
	return b
}

func TestTheDocumentNamesEveryCodeReasonAndBound(t *testing.T) {
	doc := readDoc(t)
	for scope, codes := range map[string][]protocol.Code{
		"session": {protocol.CodeVersion, protocol.CodeIdentity, protocol.CodeBusy, protocol.CodeMalformed, protocol.CodeInternal},
		"route": {protocol.CodeUnknownQueue, protocol.CodeNoRight, protocol.CodeRemoteFull, protocol.CodeLedgerFull, protocol.CodeHorizon,
			protocol.CodeFork, protocol.CodeStorage},
		"message": {protocol.CodeTooLarge, protocol.CodeIDConflict, protocol.CodeLoop, protocol.CodeHorizonPassed, protocol.CodeInDoubt,
			protocol.CodeCorrupt, protocol.CodeMalformed},
		"Bye": {protocol.CodeShutdown, protocol.CodeSuperseded, protocol.CodeStalled},
	} {
		for _, code := range codes {
			requireLine(t, doc, fmt.Sprintf("| %s | `%s` |", scope, code))
		}
	}
	for n := range 0x80 {
		if frame := protocol.Type(n); !strings.HasPrefix(frame.String(), "frame type") {
			requireLine(t, doc, fmt.Sprintf("| %d | %s | %s |", n, frame, payloadInWords(t, frame)))
			requireLine(t, doc, fmt.Sprintf("## %s (%d)", frame, n))
		}
	}
	for _, reason := range []message.Reason{
		message.ReasonMaxDeliveries, message.ReasonTTL, message.ReasonHorizonPassed, message.ReasonRejected, message.ReasonCorrupt,
		message.ReasonTooLarge, message.ReasonIDConflict, message.ReasonLoop, message.ReasonMalformed, message.ReasonInDoubt, message.ReasonOverflow,
	} {
		requireLine(t, doc, fmt.Sprintf("| `%s` |", reason))
	}
	requireLine(t, doc, fmt.Sprintf("| items of a Ship | %d |", protocol.MaxShipItems))
	requireLine(t, doc, fmt.Sprintf("| items of a Close | %d |", protocol.MaxCloseItems))
	requireLine(t, doc, fmt.Sprintf("| ranges of an Accepted | %d |", protocol.MaxAcceptedRanges))
	requireLine(t, doc, fmt.Sprintf("| epochs of a Hello or Welcome | %d |", protocol.MaxEpochs))
	requireLine(t, doc, fmt.Sprintf("| record | its body + %s bytes |", thousands(message.MaxRecordBytes(0))))
	requireLine(t, doc, fmt.Sprintf("whichever is more, + %s bytes", thousands(longest(t, protocol.TypeShip)-protocol.BatchBytes)))
	requireLine(t, doc, fmt.Sprintf("| payload of a Close | %s bytes |", thousands(longest(t, protocol.TypeClose))))
}

// payloadInWords is the bound of a payload as the document's table of frames says it.
func payloadInWords(t *testing.T, frame protocol.Type) string {
	t.Helper()
	switch n := longest(t, frame); {
	case frame == protocol.TypeShip || frame == protocol.TypeClose:
		return "see *Bounds*"
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// longest finds the largest length of a frame that a reader does not refuse on sight.
func longest(t *testing.T, frame protocol.Type) uint64 {
	t.Helper()
	refused := func(n uint64) bool {
		head := pack.AppendUvarint([]byte{byte(frame)}, n)
		_, err := protocol.NewReader(bytes.NewReader(head), 0).Next()
		return errors.Is(err, pack.ErrMalformed)
	}
	low, high := uint64(0), uint64(1<<30)
	for low+1 < high {
		if mid := (low + high) / 2; refused(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

func thousands(n uint64) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

func requireLine(t *testing.T, doc, part string) {
	t.Helper()
	if !strings.Contains(doc, part) {
		t.Errorf("docs/protocol.md does not say %q", part)
	}
}

func readDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
