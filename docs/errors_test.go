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

var (
	errorText = regexp.MustCompile(`^(ERR|OOM|WRONGTYPE|NOPROTO|EXECABORT|MISCONF|WRONGPASS|NOAUTH|NOPERM|LIMITED|DENIED|UNCERTAIN|CLUSTERDOWN|BUSY|MOVED|Protocol error:)( |$)`)
	verb      = regexp.MustCompile(`%[+#]?[a-z]`)
)

// TestErrors holds docs/errors.md to list every error the server can send, and no other. It finds them in the sources
// of the packages that answer clients: texts that begin with an error's code.
func TestErrors(t *testing.T) {
	listed := map[string]bool{}
	for _, line := range readPage(t, "docs/errors.md").lines {
		if row := regexp.MustCompile("^\\| `([^`]+)` \\|.+\\|$").FindStringSubmatch(line); row != nil {
			listed[row[1]] = true
		}
	}
	sent := map[string]bool{}
	for _, folder := range []string{"server", "server/command", "server/resp", "server/acl"} {
		for _, text := range errorTexts(t, folder) {
			sent[text] = true
			if !listed[text] {
				t.Errorf("docs/errors.md has no row for %s, from %s", text, folder)
			}
		}
	}
	if len(sent) < 30 {
		t.Errorf("found only %d errors in the sources", len(sent))
	}
	for text := range listed {
		if !sent[text] {
			t.Errorf("docs/errors.md lists %s, which no source sends", text)
		}
	}
}

// errorTexts returns the errors in the sources of a package, with … for what is filled in.
func errorTexts(t *testing.T, folder string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text := literal(expression)
			switch strings.TrimSpace(text) {
			case "ERR", "ERR " + anything: // put before an error of another package
				return true
			}
			if !errorText.MatchString(text) {
				return true
			}
			text = strings.ReplaceAll(verb.ReplaceAllString(text, anything), "%%", "%")
			if strings.HasPrefix(text, "Protocol error:") {
				text = "ERR " + text // as the session sends them
			}
			texts = append(texts, strings.TrimSpace(text))
			return false
		})
	}
	return texts
}

// literal is the text of a string expression, with … for what is not constant; nothing for other expressions.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, right := literal(e.X), literal(e.Y)
			if left == "" {
				return ""
			}
			if right == "" {
				right = anything
			}
			return left + right
		}
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return ""
}
