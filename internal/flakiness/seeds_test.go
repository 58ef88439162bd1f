package flakiness

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// unseeded finds random numbers that another run does not repeat.
func unseeded(p *goPackage, f *function, report func(at token.Pos, what string)) {
	random := importedAs(f.file.tree, "math/rand", "math/rand/v2")
	checks := importedAs(f.file.tree, "testing/quick")
	ast.Inspect(f.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, is := n.Fun.(*ast.SelectorExpr)
			switch {
			case !is:
			case isName(s.X, checks) && strings.HasPrefix(s.Sel.Name, "Check") && len(n.Args) > 0 && isName(n.Args[len(n.Args)-1], "nil"):
				report(n.Pos(), "random values without a seed")
			case random == "" || !isName(s.X, random):
			case !strings.HasPrefix(s.Sel.Name, "New"):
				report(n.Pos(), "a random number without a seed")
			case slices.ContainsFunc(n.Args, usesNow):
				report(n.Pos(), "the time is the seed")
			}
		case *ast.CompositeLit:
			if checks != "" && isSelector(n.Type, checks, "Config") && !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
				pair, is := e.(*ast.KeyValueExpr)
				return is && isName(pair.Key, "Rand")
			}) {
				report(n.Pos(), "random values without a seed")
			}
		}
		return true
	})
}

// importedAs is the name of the first of some packages in a file, "" if it imports none.
func importedAs(tree *ast.File, packages ...string) string {
	for _, spec := range tree.Imports {
		of := strings.Trim(spec.Path.Value, `"`)
		if !slices.Contains(packages, of) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(strings.TrimSuffix(of, "/v2"))
	}
	return ""
}

func usesNow(e ast.Expr) (does bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		does = does || is && isNow(call)
		return !does
	})
	return does
}

var unseededByLanguage = map[string]*regexp.Regexp{
	".mjs":  regexp.MustCompile(`\bMath\.random\b`),
	".java": regexp.MustCompile(`\bMath\.random\(|\bnew Random\(\)|\bThreadLocalRandom\b`),
	".py":   regexp.MustCompile(`(^|[^.\w])random\.((random|randint|randrange|choices?|uniform|shuffle|sample|expovariate|gauss|getrandbits)\(|Random\(\)|seed\(\))`),
	".sh":   regexp.MustCompile(`\$\{?RANDOM\b|\(\(.*\bRANDOM\b`),
}

func unseededInText(f textFile, report func(line int, what string)) {
	if f.language() == ".py" && !slices.Contains(f.lines, "import random") {
		return // the name is a variable's
	}
	reportMatches(f, unseededByLanguage, "a random number without a seed", report)
}

// language is a file's extension; scripts without one are in the shell's language.
func (f textFile) language() string {
	if ext := path.Ext(f.name); ext != "" {
		return ext
	}
	return ".sh"
}
