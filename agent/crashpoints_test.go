package agent_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drawbridge/link"
	"drawbridge/spool/bolt"
)

const crashPage = "../docs/crash-points.md"

// TestCrashPointsAreThoseOfThePage compares the lists of points with the tables that say what must hold at each.
func TestCrashPointsAreThoseOfThePage(t *testing.T) {
	for section, points := range map[string][]string{"The spool": bolt.HookPoints(), "A link": link.HookPoints()} {
		var named []string
		for _, row := range tablesOf(t, section)[0] {
			named = append(named, strings.Trim(row[0], "`"))
			if len(row) != 3 || slices.Contains(row, "") {
				t.Errorf("point %s has the row %q", row[0], row)
			}
		}
		if !slices.Equal(named, points) {
			t.Errorf("section %q has the points\n%q, the code has\n%q", section, named, points)
		}
	}
	for _, point := range link.HookPoints() {
		if slices.Contains(bolt.HookPoints(), point) {
			t.Errorf("point %s is one of a link and one of the spool: one hook could not tell them apart", point)
		}
	}
}

// TestFaultsAndStepsAreTried looks whether each cell of the matrix names tests that exist, or what is missing for one.
func TestFaultsAndStepsAreTried(t *testing.T) {
	tables := tablesOf(t, "Faults and steps")
	matrix, tests, later := tables[0], tables[1], tables[2]
	used := make(map[string]bool)
	for _, row := range matrix {
		if len(row) != 6 {
			t.Errorf("step %s has %d cells", row[0], len(row))
		}
		for _, cell := range row[1:] {
			for _, word := range strings.Split(cell, ", ") {
				used[word] = true
			}
		}
	}
	known := map[string]bool{"–": true}
	name := regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`")
	for _, row := range tests {
		known[row[0]] = true
		found := name.FindStringSubmatch(row[1])
		if found == nil || !strings.Contains(testsOf(t, found[1]), "func "+found[2]+"(") {
			t.Errorf("%s names no test that exists: %s", row[0], row[1])
		}
	}
	for _, row := range later {
		known[row[0]] = true
		if !strings.HasPrefix(row[1], "later: ") {
			t.Errorf("%s: %s", row[0], row[1])
		}
	}
	for word := range used {
		if !known[word] {
			t.Errorf("the matrix has %q, which is explained nowhere", word)
		}
	}
	for word := range known {
		if !used[word] {
			t.Errorf("%q is explained and stands nowhere in the matrix", word)
		}
	}
	if len(matrix) != 18 {
		t.Errorf("the matrix has %d steps", len(matrix))
	}
}

// tablesOf returns the tables of a section of the page, without their heads, as rows of cells.
func tablesOf(t *testing.T, section string) (tables [][][]string) {
	t.Helper()
	page, err := os.ReadFile(crashPage)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "## "+section+"\n")
	if !found {
		t.Fatalf("there is no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch inside := strings.HasPrefix(line, "| "); {
		case inside && strings.HasPrefix(line, "| ---"):
			tables = append(tables, nil)
		case inside && strings.HasPrefix(before, "| "):
			at := len(tables) - 1
			tables[at] = append(tables[at], cellsOf(line))
		}
		before = line
	}
	return tables
}

func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// testsOf returns the text of a package's tests.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s has %d files of tests, %v", dir, len(files), err)
	}
	var all strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}
