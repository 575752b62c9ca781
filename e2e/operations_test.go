package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"drawbridge/config"
)

// TestEveryWarningHasItsRow compares the log lines in the code with what docs/operations.md tells an operator of them.
func TestEveryWarningHasItsRow(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	rows := map[string][]string{"Error": nil, "Warn": nil}
	for level := range rows {
		_, section, found := strings.Cut(string(page), "\n### "+level+": ")
		if !found {
			t.Fatalf("no section of %s", level)
		}
		section, _, _ = strings.Cut(section, "\n### ")
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
			rows[level] = append(rows[level], m[1])
		}
	}
	inCode := loggedTexts(t)
	for level, texts := range rows {
		for _, text := range texts {
			if !slices.Contains(inCode[level], text) && !slices.Contains(inCode["Log"], text) {
				t.Errorf("no code logs %q at %s, and yet it has a row", text, level)
			}
		}
		for _, text := range inCode[level] {
			if !slices.Contains(texts, text) {
				t.Errorf("%q is logged at %s and has no row there", text, level)
			}
		}
	}
	for _, text := range inCode["Log"] { // at a level that is known only when it runs
		if !slices.Contains(rows["Warn"], text) {
			t.Errorf("%q is logged and has no row", text)
		}
	}
}

// loggedTexts returns the texts of log lines by the method that writes them.
func loggedTexts(t *testing.T) map[string][]string {
	texts := make(map[string][]string)
	eachCall(t, func(method, receiver string, args []string) {
		switch {
		case receiver != "log" && receiver != "Log" && receiver != "out":
		case (method == "Warn" || method == "Error") && len(args) > 0 && args[0] != "":
			texts[method] = append(texts[method], args[0])
		case method == "Log" && len(args) > 1 && args[1] != "":
			texts[method] = append(texts[method], args[1])
		}
	})
	return texts
}

// TestEveryPartOfTheLogHasALevel keeps the words of log.levels equal to the names that loggers have.
func TestEveryPartOfTheLogHasALevel(t *testing.T) {
	parts := make(map[string]bool)
	eachCall(t, func(method, _ string, args []string) {
		if method == "Named" && len(args) == 1 && args[0] != "" {
			parts[args[0]] = true
		}
	})
	if got := slices.Sorted(maps.Keys(parts)); !slices.Equal(got, config.LogParts()) {
		t.Errorf("loggers are named %v, log.levels knows %v", got, config.LogParts())
	}
}

// eachCall visits the method calls in all code but that of tests, with the last name of the receiver and those arguments that
// are literal strings; others are empty.
func eachCall(t *testing.T, visit func(method, receiver string, args []string)) {
	t.Helper()
	must(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			args := make([]string, len(call.Args))
			for i, arg := range call.Args {
				if l, ok := arg.(*ast.BasicLit); ok && l.Kind == token.STRING {
					args[i], _ = strconv.Unquote(l.Value) // what the parser took is a literal
				}
			}
			visit(method.Sel.Name, lastName(method.X), args)
			return true
		})
		return nil
	}))
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
