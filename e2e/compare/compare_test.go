package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestEveryEngineKeepsWhatItTakes runs the whole comparison at a tiny size: its checks are those of the large one.
func TestEveryEngineKeepsWhatItTakes(t *testing.T) {
	const rounds = 2
	measured, err := measure(t.Context(), contenders(), t.TempDir(), rounds, batch+batch/2)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows() {
		for _, c := range contenders() {
			if got := len(measured[place{row, c.name}]); got != rounds {
				t.Errorf("%s of %s was measured %d times, want %d", row, c.name, got, rounds)
			}
		}
	}
	var printed bytes.Buffer
	if err := report(&printed, contenders(), measured); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(printed.String(), "drawbridge  "), len(rows()); got < want {
		t.Errorf("the report names drawbridge %d times, want %d:\n%s", got, want, &printed)
	}
}

// TestALossIsNoticed compares with more and with less than was stored, and with an id that was never put.
func TestALossIsNoticed(t *testing.T) {
	for _, c := range contenders() {
		t.Run(c.name, func(t *testing.T) {
			dir, items := t.TempDir(), newItems(3)
			e, err := c.open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := putNew(t.Context(), e, items[:2]); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range [][]item{items, items[:1], {items[0], {items[1].id, items[2].body}}} {
				if err := checkStored(t.Context(), c, dir, tallyOf(wrong), nil); err == nil {
					t.Errorf("%d messages were found where 2 others lie", len(wrong))
				}
			}
			if err := checkStored(t.Context(), c, dir, tallyOf(items[:2]), items); err == nil {
				t.Error("an id that was never put was told as a duplicate")
			}
		})
	}
}

// TestALeaseIsAckedOnce holds SQLite to the contract that it is compared under.
func TestALeaseIsAckedOnce(t *testing.T) {
	for _, c := range contenders() {
		t.Run(c.name, func(t *testing.T) {
			e, err := c.open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if err := putNew(t.Context(), e, newItems(2)); err != nil {
				t.Fatal(err)
			}
			given, err := e.Lease(t.Context(), 1)
			if err != nil || len(given) != 1 {
				t.Fatalf("%d deliveries, %v", len(given), err)
			}
			if err := e.Ack(t.Context(), given); err != nil {
				t.Fatal(err)
			}
			if err := e.Ack(t.Context(), given); err == nil {
				t.Error("a delivery was acked twice")
			}
			next, err := e.Lease(t.Context(), 2)
			if err != nil || len(next) != 1 || next[0].id == given[0].id {
				t.Errorf("after an ack and with one left, %d deliveries, %v", len(next), err)
			}
		})
	}
}
