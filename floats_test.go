package stint_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inexact are the functions of package math whose results differ between processors in their last bits.
var inexact = regexp.MustCompile(`^(Exp|Log|Pow|A?(Sin|Cos|Tan)|Cbrt|Hypot|Erf|L?Gamma)`)

// inexactIn are the files that may use them.
var inexactIn = []string{
	"engine/script/elementary/angles.go",     // for arguments of which the results are exact
	"engine/script/elementary/elementary.go", // likewise
	"engine/script/interpreter/operators.go", // for scripts of dialect 1
	"engine/script/library/mathlib.go",       // likewise
}

// Replicas on different processors compute the same: nothing that changes keys uses functions that differ between them.
func TestFloatsAreAlike(t *testing.T) {
	users := 0
	for _, f := range sources(t) {
		if f.isTest() || !strings.HasPrefix(f.name, "engine/") && !strings.HasPrefix(f.name, "server/command/data/") {
			continue
		}
		isExempt := slices.Contains(inexactIn, f.name)
		ast.Inspect(f.tree, func(n ast.Node) bool {
			selector, is := n.(*ast.SelectorExpr)
			if !is || !inexact.MatchString(selector.Sel.Name) {
				return true
			}
			if of, is := selector.X.(*ast.Ident); !is || of.Name != "math" {
				return true
			}
			if users++; !isExempt {
				t.Errorf("%s: the last bits of math.%s depend on the processor; use engine/script/elementary", f.set.Position(selector.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
	if users == 0 {
		t.Error("no file is known to use such a function")
	}
}
