package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// somebodyElse is an identity that no agent of a test has.
const somebodyElse = "ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA"

func TestAPeerThatProvesAnotherKeyIsRefusedAndBothKeysAreTold(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.configure(somebodyElse, p.fra.peerID)
	p.nyc.start()
	p.fra.start()
	p.fra.requireRefused(p.nyc.peerID, somebodyElse)
}

func TestAStrangerIsRefusedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.configure(p.nyc.peerID, somebodyElse)
	p.nyc.start()
	p.fra.start()
	p.fra.requireRefused(p.fra.peerID)
	if lines := p.nyc.logged("stranger refused"); len(lines) != 1 || !strings.Contains(lines[0], p.fra.peerID) {
		t.Errorf("nyc logs the stranger as %q, want one line with its identity", lines)
	}
	if l := p.nyc.link(); l.State != "connecting" {
		t.Errorf("the link of nyc is %s: %s", l.State, l.Reason)
	}
}

// requireRefused requires that the link is refused for a reason that names the identities, that dialling goes on, and that
// one line of the log says so however often it was in vain.
func (h *host) requireRefused(identities ...string) {
	h.t.Helper()
	dials := make(map[time.Time]bool)
	eventually(h.t, 20*time.Second, func() string {
		l := h.link()
		if l.State != "refused" || l.LastErrorAt == nil {
			return fmt.Sprintf("the link of %s is %s: %s", h.name, l.State, l.Reason)
		}
		for _, id := range identities {
			if !strings.Contains(l.Reason, id) {
				return fmt.Sprintf("the reason does not name %s: %s", id, l.Reason)
			}
		}
		if dials[*l.LastErrorAt] = true; len(dials) < 3 {
			return fmt.Sprintf("%d dials failed, want 3", len(dials))
		}
		return ""
	})
	if lines := h.logged("link refused"); len(lines) != 1 {
		h.t.Errorf("agent %s logs the refusal %d times: %q", h.name, len(lines), lines)
	}
}
