package config_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"drawbridge/config"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s":                  0,
		"250ms":               250 * time.Millisecond,
		"30s":                 30 * time.Second,
		"90m":                 90 * time.Minute,
		"72h":                 72 * time.Hour,
		"1d12h":               36 * time.Hour,
		"2w":                  14 * 24 * time.Hour,
		"1w1d1h1m1s1ms":       8*24*time.Hour + time.Hour + time.Minute + time.Second + time.Millisecond,
		"9223372036854ms":     9223372036854 * time.Millisecond,
		"000000000000000001s": time.Second,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "is not a duration",
		"30":                    "write 30s for seconds",
		"s":                     "is not a duration",
		"1.5h":                  "is not a duration",
		"1h 30m":                "is not a duration",
		"30S":                   "is not a duration",
		"1h1h":                  "is not a duration",
		"30m1h":                 "is not a duration",
		"1y":                    "is not a duration",
		"1h30":                  "is not a duration",
		"-5s":                   "is negative",
		"9223372036855ms":       "too long",
		"15251w":                "too long",
		"99999999999999999999s": "too long",
	} {
		if got, err := config.ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestADurationIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(1<<63-1)/int64(time.Millisecond)).Draw(t, "ms")) * time.Millisecond
		text := config.FormatDuration(d)
		if got, err := config.ParseDuration(text); err != nil || got != d {
			t.Fatalf("%d ms is written %q, which is read as %v, %v", d.Milliseconds(), text, got, err)
		}
	})
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]uint64{
		"0B":                    0,
		"512B":                  512,
		"64KiB":                 64 << 10,
		"16MiB":                 16 << 20,
		"2GiB":                  2 << 30,
		"18446744073709551615B": 1<<64 - 1,
	} {
		if got, err := config.ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "is not a size",
		"1024":                  "write 1024B for bytes",
		"5KB":                   "write 5KiB",
		"5k":                    "write 5KiB",
		"5 MiB":                 "write 5MiB",
		"5gib":                  "write 5GiB",
		"5b":                    "write 5B",
		"1.5GiB":                "is not a size",
		"-1B":                   "is not a size",
		"5TiB":                  "is not a size",
		"MiB":                   "is not a size",
		"18446744073709551616B": "too large",
		"17179869184GiB":        "too large",
	} {
		if got, err := config.ParseBytes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestASizeIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Uint64().Draw(t, "bytes")
		text := config.FormatBytes(bytes)
		if got, err := config.ParseBytes(text); err != nil || got != bytes {
			t.Fatalf("%d is written %q, which is read as %v, %v", bytes, text, got, err)
		}
	})
}
