package stint_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// inRooms are the parts whose packages are small: nobody has to know more of such a part than one package to change it.
var inRooms = []string{"cluster"}

const (
	mostLines   = 3500 // of a package, without its tests
	mostMethods = 40   // of a type
)

// TestRooms bounds packages and types of the parts in inRooms.
func TestRooms(t *testing.T) {
	lines, methods := map[string]int{}, map[string]int{}
	for _, f := range sources(t) {
		dir := path.Dir(f.name)
		if f.isTest() || !isInRooms(dir) {
			continue
		}
		lines[dir] += f.set.Position(f.tree.FileEnd).Line - 1
		for _, d := range f.tree.Decls {
			if m, is := d.(*ast.FuncDecl); is && m.Recv != nil {
				methods[dir+"."+receiver(m.Recv.List[0].Type)]++
			}
		}
	}
	for dir, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines, more than %d: divide it", dir, n, mostLines)
		}
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, more than %d: move some to a part of it", name, n, mostMethods)
		}
	}
	if lines["cluster/group"] == 0 || methods["cluster/group.Group"] == 0 {
		t.Errorf("nothing was counted: %v, %v", lines, methods)
	}
}

func isInRooms(dir string) bool {
	for _, part := range inRooms {
		if dir == part || strings.HasPrefix(dir, part+"/") {
			return true
		}
	}
	return false
}

// receiver is the name of a receiver's type.
func receiver(of ast.Expr) string {
	switch x := of.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
