package stint_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// What a reader has to hold in mind at once is bounded. Packages and types that are larger may shrink, and not grow.
const (
	mostLines   = 3500 // of a package of the engine or cluster, without tests
	mostMethods = 40   // of a type
)

var largerTypes = map[string]int{
	"internal/testmodel.Calls": 54, // a method for each command
	"internal/testmodel.Model": 46,
	"clients/go.Limiter":       45,
	"server.Server":            56,
	"server/conn.Session":      68,
}

func TestPackagesAndTypesAreSmall(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		dir := path.Dir(f.name)
		if part, _, _ := strings.Cut(dir, "/"); part == "engine" || part == "cluster" {
			lines[dir] += f.set.File(f.tree.FileStart).LineCount() - 1
		}
		for _, d := range f.tree.Decls {
			if method, ok := d.(*ast.FuncDecl); ok && method.Recv != nil {
				methods[dir+"."+receiver(method)]++
			}
		}
	}
	for dir, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines, more than %d: which part of it could be a package below?", dir, n, mostLines)
		}
	}
	for name, n := range methods {
		if most := max(mostMethods, largerTypes[name]); n > most {
			t.Errorf("%s has %d methods, more than %d: which of them could be those of a type inside it?", name, n, most)
		}
	}
	if len(lines) < 5 || len(methods) < 100 {
		t.Errorf("only %d packages and %d types were looked at", len(lines), len(methods))
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
