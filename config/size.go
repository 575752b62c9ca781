package config

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	name  string
	bytes uint64
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"B", 1},
}

var sizePattern = regexp.MustCompile(`^(\d+)\s*([a-zA-Z]*)$`)

// ParseBytes reads a size such as 512B, 64KiB, 16MiB or 2GiB. Units of 1000 are refused rather than guessed at.
func ParseBytes(text string) (uint64, error) {
	malformed := fmt.Errorf("%q is not a size, write one such as 512B, 64KiB, 16MiB or 2GiB", clip(text))
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, malformed
	}
	if m[2] == "" {
		return 0, fmt.Errorf("%s has no unit, write %sB for bytes; units are B, KiB, MiB, GiB", clip(text), clip(m[1]))
	}
	for _, u := range sizeUnits {
		if text == m[1]+u.name {
			count, err := strconv.ParseUint(m[1], 10, 64)
			high, bytes := bits.Mul64(count, u.bytes)
			if err != nil || high != 0 {
				return 0, fmt.Errorf("%s is too large", clip(text))
			}
			return bytes, nil
		}
	}
	for _, u := range sizeUnits {
		if strings.HasPrefix(strings.ToLower(u.name), strings.ToLower(m[2][:1])) {
			return 0, fmt.Errorf("%q is not a size, write %s%s; units are B, KiB, MiB, GiB", clip(text), clip(m[1]), u.name)
		}
	}
	return 0, malformed
}

// FormatBytes writes a size in the largest unit that needs no fraction.
func FormatBytes(bytes uint64) string {
	for _, u := range sizeUnits {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return fmt.Sprintf("%d%s", bytes/u.bytes, u.name)
		}
	}
	return "0B"
}
