package demo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drawbridge/cmd/drawbridge/demo"
	"drawbridge/config"
)

func TestSocketsHaveShortPathsInADeepDirectory(t *testing.T) {
	paths, err := demo.Configurations(filepath.Join(t.TempDir(), strings.Repeat("d", 120)))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		c, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Listen.API); n > 100 {
			t.Errorf("the socket's path has %d bytes: %s", n, c.Listen.API)
		}
		if _, err := os.Stat(filepath.Dir(c.Listen.API)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the sockets' directory was not removed: %v", err)
		}
	}
}

func TestConfigurationsAreValidAndFitTogether(t *testing.T) {
	paths, err := demo.Configurations(filepath.Join(t.TempDir(), "a path: with \"quotes\" and blanks"))
	if err != nil {
		t.Fatal(err)
	}
	var sides []*config.Config
	for _, path := range paths {
		c, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, c)
	}
	toB, toA := sides[0].Links["b"], sides[1].Links["a"]
	if len(toB.Addresses) != 1 || toB.Addresses[0] != sides[1].Listen.Link || len(toA.Addresses) != 0 {
		t.Errorf("A dials %v, B listens on %s and dials %v; want A to dial B and B to wait", toB.Addresses, sides[1].Listen.Link, toA.Addresses)
	}
	if toB.PeerIDs[0] == toA.PeerIDs[0] {
		t.Error("both agents have one identity")
	}
	if toB.Send[0].To != toA.Receive[0].To || toA.Send[0].To != toB.Receive[0].To {
		t.Errorf("A sends %+v, B takes %+v; B sends %+v, A takes %+v", toB.Send, toA.Receive, toA.Send, toB.Receive)
	}
}
