package api_test

import (
	"testing"

	"drawbridge/api"
)

func TestCheckText(t *testing.T) {
	for text, good := range map[string]bool{
		"":               true,
		"plain, ünï=1;2": true,
		"a b":            true,
		" a":             false,
		"a ":             false,
		"a\nb":           false,
		"a\x00":          false,
		"a\tb":           false,
		"\xff":           false,
	} {
		if err := api.CheckText(text); (err == nil) != good {
			t.Errorf("CheckText(%q) = %v", text, err)
		}
	}
}
