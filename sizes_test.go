package stint_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a reader has to hold in mind at once is bounded: the lines of a package, the methods of a type, the lines of a function. Packages, types and
// functions that are larger are listed with today's numbers, which may only fall. If a change
// exceeds a bound, divide what it changes, or take something out of it.
const (
	mostLines         = 3000 // of a package, without tests
	mostMethods       = 40   // of a type
	mostFunctionLines = 60
)

// product are the parts of the house whose code is in the server's binary.
var product = []string{"engine", "persistence", "cluster", "server", "cmd", "internal"}

func isProduct(dir string) bool {
	part, _, _ := strings.Cut(dir, "/")
	return slices.Contains(product, part) && !strings.HasPrefix(dir, "internal/test")
}

var largerPackages = map[string]int{
	"engine/algorithm": 3420,
	"engine/keyspace":  3445,
}

var largerTypes = map[string]int{
	"cluster/group.stateImport":        42,
	"cmd/stint.groupKeys":              41,
	"engine/keyspace.Keyspace":         77,
	"engine/keyspace.Shard":            83,
	"engine/keyspace.growth":           50,
	"engine/keyspace.table":            43,
	"engine/script/interpreter.Thread": 85,
	"engine/script/syntax.parser":      71,
	"engine/store.Store":               79,
	"server.Server":                    49,
	"server/conn.Session":              96,
	"engine/transaction.Tx":            42,
}

func TestPackagesTypesAndFunctionsAreSmall(t *testing.T) {
	lines, functions, methods := sizesOf(sources(t))
	atMost(t, "lines", lines, mostLines, largerPackages, "which part of it could be a package below?")
	atMost(t, "methods", methods, mostMethods, largerTypes, "which of them could be the methods of a type inside it?")
	atMost(t, "lines", functions, mostFunctionLines, nil, "which part of it has a name?")
	if len(lines) < 50 || len(methods) < 500 || len(functions) < 5000 {
		t.Errorf("only %d packages, %d types and %d functions were looked at", len(lines), len(methods), len(functions))
	}
}

// atMost holds each number to a bound, or to a larger one that is listed for it. A listed bound has to follow a number that falls.
func atMost(t *testing.T, of string, numbers map[string]int, most int, larger map[string]int, question string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		n, listed := numbers[name], larger[name]
		switch {
		case n > max(most, listed):
			t.Errorf("%s has %d %s, more than %d: %s", name, n, of, max(most, listed), question)
		case listed > 0 && n <= listed*9/10:
			t.Errorf("%s has %d %s now: lower its bound, %d, or delete it", name, n, of, listed)
		}
	}
}

// sizesOf counts the lines of the product's packages, without tests, and of its functions, and the methods of its types.
func sizesOf(files []sourceFile) (lines, functions, methods map[string]int) {
	lines, functions, methods = map[string]int{}, map[string]int{}, map[string]int{}
	for _, f := range files {
		dir := path.Dir(f.name)
		if f.isTest() || !isProduct(dir) {
			continue
		}
		lines[dir] += f.set.File(f.tree.FileStart).LineCount() - 1
		for _, d := range f.tree.Decls {
			if fn, is := d.(*ast.FuncDecl); is {
				functions[functionName(dir, fn)] = f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			}
		}
	}
	for name, n := range typesOf(files).methods() {
		if isProduct(packageOf(name)) {
			methods[name] = n
		}
	}
	return lines, functions, methods
}

func functionName(dir string, fn *ast.FuncDecl) string {
	if of := receiver(fn); of != "" {
		return dir + "." + of + "." + fn.Name.Name
	}
	return dir + "." + fn.Name.Name
}

// packageOf is the directory in the name of a type or function.
func packageOf(name string) string {
	base := strings.LastIndex(name, "/") + 1
	dot := strings.Index(name[base:], ".")
	if dot < 0 {
		return ""
	}
	return name[:base+dot]
}

// receiver is the name of the type that a method belongs to, "" of a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(typeName("", nil, fn.Recv.List[0].Type), ".")
}

// declaredType is a type of the module.
type declaredType struct {
	methods  []string // its own
	embedded []string // whose methods are promoted
	wraps    string   // the type to which its only field points
}

type declaredTypes map[string]*declaredType // by directory and name

// typesOf reads the types that files declare.
func typesOf(files []sourceFile) declaredTypes {
	all := declaredTypes{}
	at := func(name string) *declaredType {
		if all[name] == nil {
			all[name] = new(declaredType)
		}
		return all[name]
	}
	for _, f := range files {
		if f.isTest() {
			continue
		}
		dir, imported := path.Dir(f.name), importedAs(f)
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); of != "" {
					at(dir + "." + of).methods = append(at(dir+"."+of).methods, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is {
						at(dir+"."+s.Name.Name).read(dir, imported, s.Type)
					}
				}
			}
		}
	}
	return all
}

// importedAs has the directories of the module's packages by their names in a file.
func importedAs(f sourceFile) map[string]string {
	all := map[string]string{}
	for _, spec := range f.tree.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(name, module+"/")
		switch {
		case ours && spec.Name != nil:
			all[spec.Name.Name] = dir
		case ours:
			all[path.Base(dir)] = dir
		}
	}
	return all
}

func (d *declaredType) read(dir string, imported map[string]string, of ast.Expr) {
	switch of := of.(type) {
	case *ast.StructType:
		for _, field := range of.Fields.List {
			name := typeName(dir, imported, field.Type)
			if _, isPointer := field.Type.(*ast.StarExpr); isPointer && of.Fields.NumFields() <= 1 {
				d.wraps = name
			} else if len(field.Names) == 0 {
				d.embedded = append(d.embedded, name)
			}
		}
	case *ast.InterfaceType:
		for _, field := range of.Methods.List {
			if len(field.Names) == 0 {
				d.embedded = append(d.embedded, typeName(dir, imported, field.Type))
			}
			for _, method := range field.Names {
				d.methods = append(d.methods, method.Name)
			}
		}
	}
}

// typeName returns the directory and name of a type; of a pointer, those of the type that it points to. It returns "" for a type from outside the module.
func typeName(dir string, imported map[string]string, of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return typeName(dir, imported, of.X)
	case *ast.IndexExpr:
		return typeName(dir, imported, of.X)
	case *ast.IndexListExpr:
		return typeName(dir, imported, of.X)
	case *ast.Ident:
		return dir + "." + of.Name
	case *ast.SelectorExpr:
		if x, is := of.X.(*ast.Ident); is && imported[x.Name] != "" {
			return imported[x.Name] + "." + of.Sel.Name
		}
	}
	return ""
}

// methods counts the methods of each type: its own, those promoted from embedded fields, and those of types that are a pointer to it and no more.
func (all declaredTypes) methods() map[string]int {
	count := map[string]int{}
	for name := range all {
		count[name] += len(all.promoted(name, map[string]bool{}))
	}
	for name, d := range all {
		if all[d.wraps] != nil && packageOf(d.wraps) == packageOf(name) {
			count[d.wraps] += len(d.methods)
		}
	}
	return count
}

// promoted are the names of a type's methods.
func (all declaredTypes) promoted(name string, seen map[string]bool) map[string]bool {
	methods := map[string]bool{}
	d := all[name]
	if d == nil || seen[name] {
		return methods
	}
	seen[name] = true
	for _, m := range d.methods {
		methods[m] = true
	}
	for _, of := range d.embedded {
		maps.Copy(methods, all.promoted(of, seen))
	}
	return methods
}
