package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// errorCode is the beginning of an error reply.
var errorCode = regexp.MustCompile(`^(ERR|OOM|WRONGTYPE|NOPROTO|EXECABORT|MISCONF|WRONGPASS|NOAUTH|NOPERM|LIMITED|DENIED|UNCERTAIN|CLUSTERDOWN|BUSY|MOVED|NOSCRIPT|NOTBUSY|Protocol error:)( |$)`)

// TestErrors checks that every error reply is a row of the table that docs/errors.md is made from: in all that the
// server is made of, texts that begin with an error's code stand only in calls of ErrorSection.Add, and
// resp.Writer.Error is never given a text, only an error's. Errors within a script are Redis's, with its texts. A
// row with an advice has a place in the page, which TestErrorsPageIsCurrent compares.
func TestErrors(t *testing.T) {
	rows := 0
	for _, path := range findFiles(t, "*.go") {
		folder, _, _ := strings.Cut(path, "/")
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "engine/script/") || folder != "server" && folder != "cluster" && folder != "engine" && folder != "persistence" {
			continue
		}
		set := token.NewFileSet()
		source, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				method, _ := n.Fun.(*ast.SelectorExpr)
				switch {
				case method == nil || len(n.Args) == 0:
				case method.Sel.Name == "Add" && len(n.Args) == 2 && isSection(method.X):
					if advice, isText := n.Args[1].(*ast.BasicLit); !isText || advice.Value != `""` {
						rows++
					}
					return false
				case method.Sel.Name == "Error" && len(n.Args) == 1 && literal(n.Args[0]) != "" && isWriter(method.X):
					t.Errorf("%s: Error of a text: declare it in errors.go of a package of server/command and write its Error()", set.Position(n.Pos()))
				}
			case *ast.BasicLit:
				if text := literal(n); errorCode.MatchString(text) {
					t.Errorf("%s: the error %q is not in the table: declare it in errors.go of a package of server/command", set.Position(n.Pos()), text)
				}
			}
			return true
		})
	}
	listed := 0
	for _, line := range readPage(t, "docs/errors.md").lines {
		if regexp.MustCompile("^\\| `[^`]+` \\|.+\\|$").MatchString(line) {
			listed++
		}
	}
	if rows < 50 || rows != listed {
		t.Errorf("found %d errors in the sources and %d in docs/errors.md", rows, listed)
	}
}

// isSection reports whether an expression is a section of the table of errors.
func isSection(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(e.Name, "Errors")
	case *ast.SelectorExpr:
		return strings.HasSuffix(e.Sel.Name, "Errors")
	}
	return false
}

// isWriter reports whether an expression is called as writers of replies are.
func isWriter(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "w" || e.Name == "out"
	case *ast.SelectorExpr:
		return e.Sel.Name == "out" || e.Sel.Name == "w"
	}
	return false
}

// literal is the constant text of a string expression, also of one that begins a sum; "" for other expressions.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return literal(e.X)
		}
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return ""
}
