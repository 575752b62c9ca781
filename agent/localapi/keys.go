package localapi

import (
	"bytes"
	"encoding/json"
	"strings"

	"drawbridge/api"
)

// What a JSON value of a client may be made of. What the API reads has three levels and, in headers, 64 keys.
const (
	maxJSONDepth = 16
	maxJSONKeys  = 256 // in one object
)

// checkKeys refuses a key that stands twice in one object, also in other case: encoding/json would let the last one win in
// silence. It refuses what is nested or keyed beyond measure too, before memory is taken for it. What is no JSON passes.
func checkKeys(value []byte) error {
	var open []map[string]bool // the keys of each object that is open; nil for a list
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{':
			open = append(open, make(map[string]bool))
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case '"':
			end := i + stringBytes(value[i:])
			if len(open) > 0 && open[len(open)-1] != nil && isKey(value[end:]) {
				if err := addKey(open[len(open)-1], value[i:end]); err != nil {
					return err
				}
			}
			i = end - 1
		}
		if len(open) > maxJSONDepth {
			return refuse(api.CodeMalformed, "JSON: nested deeper than %d", maxJSONDepth)
		}
	}
	return nil
}

// stringBytes returns how long the string at the front of b is, with its quotes.
func stringBytes(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// isKey tells a key from a value by what follows it.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func addKey(keys map[string]bool, quoted []byte) error {
	var key string
	if json.Unmarshal(quoted, &key) != nil {
		return nil // the decoder says it better
	}
	folded := strings.ToLower(strings.ToUpper(key)) // one form for all that encoding/json takes for the same
	if keys[folded] {
		return refuse(api.CodeMalformed, "JSON: the key %q is given twice", clip(key))
	}
	if len(keys) == maxJSONKeys {
		return refuse(api.CodeMalformed, "JSON: more than %d keys in one object", maxJSONKeys)
	}
	keys[folded] = true
	return nil
}
