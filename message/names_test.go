package message_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"drawbridge/message"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		what    string
		check   func(string) error
		good    []string
		bad     []string
		pattern string
	}{
		{
			what: "id", check: message.CheckID, pattern: `^[!-~]{1,128}$`,
			good: []string{"1", "order/17?x=%20", "!~", strings.Repeat("a", 128), message.NewID()},
			bad:  []string{"", "a b", "é", "a\n", "\x7f", strings.Repeat("a", 129)},
		},
		{
			what: "queue", check: message.CheckQueue, pattern: `^[a-z0-9][a-z0-9._-]{0,119}$`,
			good: []string{"orders", "0", "a.b_c-d", "dead", "deadly.deader", strings.Repeat("a", 120)},
			bad:  []string{"", "Orders", "-a", ".dead", "a/b", "a b", strings.Repeat("a", 121)},
		},
		{
			what: "agent", check: message.CheckAgent, pattern: `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`,
			good: []string{"fra-1", "HOST.example", "1_", strings.Repeat("a", 64)},
			bad:  []string{"", "-a", "a:b", "é", "a\x00", strings.Repeat("a", 65)},
		},
		{
			what: "header", check: checkHeaderName, pattern: "^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$",
			good: []string{"traceparent", "x-1", "!#$%&'*+.^_`|~-", strings.Repeat("a", 128)},
			bad:  []string{"", "Traceparent", "a:b", "a b", "a\r\nb", strings.Repeat("a", 129)},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			for _, name := range c.good {
				if err := c.check(name); err != nil {
					t.Errorf("%q: %v", name, err)
				}
			}
			for _, name := range c.bad {
				if err := c.check(name); !errors.Is(err, message.ErrName) {
					t.Errorf("%q: %v, want ErrName", name, err)
				}
			}
			pattern := regexp.MustCompile(c.pattern)
			for b := range 256 {
				for _, name := range []string{string([]byte{byte(b)}), string([]byte{'a', byte(b)})} {
					if got, want := c.check(name) == nil, pattern.MatchString(name); got != want {
						t.Errorf("%q: allowed %v, want %v", name, got, want)
					}
				}
			}
		})
	}
}

func checkHeaderName(name string) error { return message.Headers{{Name: name}}.Check() }

func TestDeadLettersHaveNoConfiguredQueue(t *testing.T) {
	if err := message.CheckQueue("orders.dead"); !errors.Is(err, message.ErrName) || !strings.Contains(err.Error(), message.DeadSuffix) {
		t.Errorf("got %v", err)
	}
}

func TestARefusedNameDoesNotFillTheLog(t *testing.T) {
	if text := message.CheckID(strings.Repeat("x", 1<<20)).Error(); len(text) > 400 {
		t.Errorf("the error has %d bytes", len(text))
	}
}

func TestHeaderLimits(t *testing.T) {
	many := message.Headers{}
	for i := range message.MaxHeaders {
		many = append(many, message.Header{Name: fmt.Sprintf("h%02d", i)})
	}
	if err := many.Check(); err != nil {
		t.Errorf("%d headers: %v", len(many), err)
	}
	big := message.Headers{{Name: "a", Value: strings.Repeat("x", message.MaxHeadersBytes-1)}}
	if err := big.Check(); err != nil {
		t.Errorf("%d bytes of headers: %v", big.Bytes(), err)
	}
	for what, h := range map[string]message.Headers{
		"one header too many": append(many, message.Header{Name: "z"}),
		"one byte too many":   {{Name: "ab", Value: big[0].Value}},
		"unsorted":            {{Name: "b"}, {Name: "a"}},
		"a name twice":        {{Name: "a"}, {Name: "a"}},
	} {
		if err := h.Check(); !errors.Is(err, message.ErrName) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHeadersAreSortedAndFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.StringMatching(`[a-z0-9]{1,8}`), rapid.String(), 0, message.MaxHeaders).Draw(t, "headers")
		h := message.NewHeaders(want)
		if len(h) != len(want) {
			t.Fatalf("%d headers of %d pairs", len(h), len(want))
		}
		for name, value := range want {
			if got, ok := h.Get(name); !ok || got != value {
				t.Fatalf("header %q is %q, %v; want %q", name, got, ok, value)
			}
		}
		if _, ok := h.Get("NOT-THERE"); ok {
			t.Fatal("found a header that is not there")
		}
		if err := h.Check(); err != nil && h.Bytes() <= message.MaxHeadersBytes {
			t.Fatal(err)
		}
	})
}
