package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBehavioursNameTestsThatExist keeps the checklist from promising what nothing shows.
func TestBehavioursNameTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../docs/behaviours.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 50 {
		t.Fatalf("%d tests are named: is the table still in its form?", len(named))
	}
	sources := make(map[string]string)
	for _, n := range named {
		dir, test := n[1], n[2]
		if _, read := sources[dir]; !read {
			sources[dir] = testSource(t, dir)
		}
		if !strings.Contains(sources[dir], "func "+test+"(") {
			t.Errorf("package %s has no %s", dir, test)
		}
	}
}

func testSource(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
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

// TestLinksBetweenPagesLeadSomewhere looks at every relative link of the pages.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range append(pages, "../README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
