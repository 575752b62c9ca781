package protocol_test

import (
	"strings"
	"testing"

	"drawbridge/protocol"
)

func TestNegotiate(t *testing.T) {
	for _, theirs := range []protocol.VersionRange{{Min: 1, Max: 1}, {Min: 1, Max: 9}} {
		if v, err := protocol.Negotiate(theirs); v != 1 || err != nil {
			t.Errorf("with %s: %d, %v", theirs, v, err)
		}
	}
	for theirs, named := range map[protocol.VersionRange]string{{Min: 2, Max: 2}: "speaks 2,", {Min: 2, Max: 4}: "speaks 2 to 4,"} {
		_, err := protocol.Negotiate(theirs)
		if err == nil || !strings.Contains(err.Error(), named) || !strings.Contains(err.Error(), "this agent 1") {
			t.Errorf("with %s: %v", theirs, err)
		}
	}
}
