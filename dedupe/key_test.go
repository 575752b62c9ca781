package dedupe_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"drawbridge/dedupe"
	"drawbridge/message"
)

// secret is fixed, so that golden keys stay what they are.
var secret = [32]byte([]byte("0123456789abcdef0123456789abcdef"))

func TestKeyIsStable(t *testing.T) {
	k := dedupe.NewHasher(secret).Key("orders", message.EndToEnd{Origin: "fra-1", ID: "a-1", Generation: 2})
	// The first 16 bytes of SHA-256 over secret, 06 "orders", 05 "fra-1", 03 "a-1", 00000002.
	const golden = "065364d4c598f280712fbbf2c9996a7a"
	if got := hex.EncodeToString(k[:]); got != golden {
		t.Errorf("key %s, want %s: rows written before are lost", got, golden)
	}
}

func TestKeyTellsEveryFieldApart(t *testing.T) {
	h := dedupe.NewHasher(secret)
	cases := map[string]dedupe.Key{
		"plain":               h.Key("q", message.EndToEnd{Origin: "a", ID: "b"}),
		"another queue":       h.Key("r", message.EndToEnd{Origin: "a", ID: "b"}),
		"another origin":      h.Key("q", message.EndToEnd{Origin: "x", ID: "b"}),
		"another id":          h.Key("q", message.EndToEnd{Origin: "a", ID: "x"}),
		"another generation":  h.Key("q", message.EndToEnd{Origin: "a", ID: "b", Generation: 1}),
		"a border moved":      h.Key("qa", message.EndToEnd{Origin: "", ID: "b"}),
		"another border":      h.Key("q", message.EndToEnd{Origin: "ab", ID: ""}),
		"a border in the id":  h.Key("q", message.EndToEnd{Origin: "", ID: "ab"}),
		"another spool":       dedupe.NewHasher([32]byte{1}).Key("q", message.EndToEnd{Origin: "a", ID: "b"}),
		"a prefix in the key": h.Key("q\x01a", message.EndToEnd{Origin: "", ID: "b"}),
	}
	seen := make(map[dedupe.Key]string)
	for name, k := range cases {
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q have one key", name, other)
		}
		seen[k] = name
	}
}

func TestKeyOfTheLongestNamesAllocatesNothing(t *testing.T) {
	h := dedupe.NewHasher(secret)
	queue := strings.Repeat("q", message.MaxQueueNameBytes) + message.DeadSuffix
	m := message.EndToEnd{
		Origin:     strings.Repeat("o", message.MaxAgentNameBytes),
		ID:         strings.Repeat("i", message.MaxIDBytes),
		Generation: 1<<32 - 1,
	}
	if n := testing.AllocsPerRun(100, func() { h.Key(queue, m) }); n != 0 {
		t.Errorf("%v allocations per key", n)
	}
}

func BenchmarkKey(b *testing.B) {
	h := dedupe.NewHasher(secret)
	m := message.EndToEnd{Origin: "fra-1", ID: message.NewID()}
	b.ReportAllocs()
	for b.Loop() {
		h.Key("orders", m)
	}
}
