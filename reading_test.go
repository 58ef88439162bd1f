package stint_test

import (
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"path"
	"strings"
	"testing"
)

// stepsRead bounds the way of a reader, who follows a call from a function to its end, and reads each function where it
// is called first. One step opens one function. A return is a step to a file that was left before: the reader has to
// remember what else stood there.
const stepsRead = 200

// readFrom has the functions from which a reader follows something, without leaving a part of the house.
var readFrom = []struct {
	name, part string
	most       int // returns on the way; the number may only fall
}{
	{"cluster/group/decide.Decider.Decide", "cluster/group", 2}, // a batch of operations
}

// TestReading bounds how often a reader who follows a call returns to a file.
func TestReading(t *testing.T) {
	functions := declaredFunctions(t)
	for _, from := range readFrom {
		r := reading{part: from.part, functions: functions, seen: map[string]bool{}, left: map[string]bool{}}
		r.follow(from.name)
		t.Logf("from %s: %d steps in %d files, %d returns", from.name, r.steps, len(r.left), r.returns)
		if r.steps < 10 {
			t.Errorf("only %d steps lead from %s: name the function to which a batch comes first", r.steps, from.name)
		}
		if r.returns > from.most {
			t.Errorf("a reader of %s returns to a file %d times, more than %d: could these functions stand in one file?", from.name, r.returns, from.most)
		}
	}
}

// reading is the way of a reader.
type reading struct {
	part      string // which the reader does not leave
	functions map[string]*declaredFunction
	seen      map[string]bool // functions
	left      map[string]bool // files
	file      string
	steps     int
	returns   int
}

func (r *reading) follow(name string) {
	f := r.functions[name]
	if f == nil || r.seen[name] || r.steps == stepsRead || !strings.HasPrefix(name, r.part) {
		return
	}
	r.seen[name] = true
	r.steps++
	r.open(f.file)
	for _, used := range f.uses {
		r.follow(used)
	}
}

func (r *reading) open(file string) {
	if file == r.file {
		return
	}
	if r.left[file] {
		r.returns++
	}
	r.left[r.file] = true
	r.file = file
}

// declaredFunction is a function, or a variable of a package, with the functions and such variables that it refers to.
type declaredFunction struct {
	file string
	uses []string // in the order of the source
}

// declaredFunctions are the functions and variables of the product's packages by their names. Calls through an interface
// or a field are left out, because the text does not say where they lead.
func declaredFunctions(t *testing.T) map[string]*declaredFunction {
	t.Helper()
	all := map[string]*declaredFunction{}
	for dir, p := range linkedPackages(t) {
		if !isProduct(dir) {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.tree.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Body != nil {
						all[functionName(dir, d)] = &declaredFunction{f.name, p.usesIn(d.Body)}
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if v, is := spec.(*ast.ValueSpec); is && d.Tok == token.VAR {
							for _, name := range v.Names {
								all[dir+"."+name.Name] = &declaredFunction{f.name, p.usesIn(v)}
							}
						}
					}
				}
			}
		}
	}
	return all
}

// usesIn lists the functions and the variables of packages that a part of the source refers to.
func (p *checkedPackage) usesIn(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		if !is {
			return true
		}
		switch used := p.uses[id].(type) {
		case *types.Func:
			if used.Pkg() != nil {
				names = append(names, nameOf(used.Origin()))
			}
		case *types.Var:
			if used.Pkg() != nil && used.Parent() == used.Pkg().Scope() {
				names = append(names, strings.TrimPrefix(used.Pkg().Path(), module+"/")+"."+used.Name())
			}
		}
		return true
	})
	return names
}

// nameOf is the name that [functionName] gives a function.
func nameOf(fn *types.Func) string {
	dir := strings.TrimPrefix(fn.Pkg().Path(), module+"/")
	of := fn.Signature().Recv()
	if of == nil {
		return dir + "." + fn.Name()
	}
	typ := of.Type()
	if pointer, is := typ.(*types.Pointer); is {
		typ = pointer.Elem()
	}
	if named, is := typ.(*types.Named); is {
		return dir + "." + named.Obj().Name() + "." + fn.Name()
	}
	return ""
}

// linkedPackages are the packages of the module. Unlike [checkedPackages], they know each other's names.
func linkedPackages(t *testing.T) map[string]*checkedPackage {
	t.Helper()
	l := &linker{filesOfPackages(t, isBuiltHere), map[string]*checkedPackage{}}
	for dir := range l.files {
		_, _ = l.Import(module + "/" + dir)
	}
	return l.packages
}

// isBuiltHere leaves out files for other systems, which declare the same names again.
func isBuiltHere(f sourceFile) bool {
	is, _ := build.Default.MatchFile(path.Split(f.name))
	return is
}

type linker struct {
	files    map[string][]sourceFile
	packages map[string]*checkedPackage
}

// Import checks a package of the module after those that it imports. Others have no names.
func (l *linker) Import(name string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(name, module+"/")
	if !ours || len(l.files[dir]) == 0 {
		return withoutImports{}.Import(name)
	}
	if p := l.packages[dir]; p != nil {
		return p.types, nil
	}
	l.packages[dir] = checkPackage(name, l.files[dir], l)
	return l.packages[dir].types, nil
}
