package stint_test

import (
	"go/ast"
	"go/build"
	"go/types"
	"path"
	"strings"
	"testing"
)

// stepsRead bounds the way of a reader, who follows a call from a function to its end, and reads each function where it
// is called first. One step opens one function. A return is a step to a file that was left before: the reader has to
// remember what else stood there.
const stepsRead = 200

// readFrom has the functions from which a reader follows something through a part of the house, and the most returns on
// the way. These numbers may only fall.
var readFrom = map[string]int{
	"cluster/group.decider.decide": 41,
}

// TestReading bounds how often a reader who follows a call returns to a file.
func TestReading(t *testing.T) {
	functions := declaredFunctions(t)
	for name := range readFrom {
		part, _, _ := strings.Cut(name, "/")
		r := reading{part: part + "/", functions: functions, seen: map[string]bool{}, left: map[string]bool{}}
		r.follow(name)
		if r.steps < 10 {
			t.Errorf("only %d steps lead from %s: name the function to which a batch comes first", r.steps, name)
		}
		t.Logf("from %s: %d steps in %d files, %d returns", name, r.steps, len(r.left), r.returns)
		atMost(t, "returns", map[string]int{name: r.returns}, 0, readFrom, "which of these functions could stand in one file?")
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
	for _, called := range f.calls {
		r.follow(called)
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

// declaredFunction is a function, and the functions that it calls.
type declaredFunction struct {
	file  string
	calls []string // in the order of the source
}

// declaredFunctions are the functions of the product by their names. Calls through an interface or a field are left out,
// because the text does not say where they lead.
func declaredFunctions(t *testing.T) map[string]*declaredFunction {
	t.Helper()
	all := map[string]*declaredFunction{}
	for dir, p := range linkedPackages(t) {
		if !isProduct(dir) {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.tree.Decls {
				if fn, is := d.(*ast.FuncDecl); is && fn.Body != nil {
					all[functionName(dir, fn)] = &declaredFunction{f.name, p.calls(fn.Body)}
				}
			}
		}
	}
	return all
}

// calls lists the functions of the module that a body calls.
func (p *checkedPackage) calls(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		var id *ast.Ident
		switch fun := ast.Unparen(call.Fun).(type) {
		case *ast.Ident:
			id = fun
		case *ast.SelectorExpr:
			id = fun.Sel
		}
		if fn, is := p.uses[id].(*types.Func); is && fn.Pkg() != nil {
			if name := nameOf(fn.Origin()); name != "" {
				names = append(names, name)
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
	l := &linker{files: map[string][]sourceFile{}, packages: map[string]*checkedPackage{}}
	for _, f := range sources(t) {
		if dir := path.Dir(f.name); !f.isTest() && isBuiltHere(f) {
			l.files[dir] = append(l.files[dir], f)
		}
	}
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
	p := &checkedPackage{files: l.files[dir], uses: map[*ast.Ident]types.Object{}}
	l.packages[dir] = p
	var trees []*ast.File
	for _, f := range p.files {
		trees = append(trees, f.tree)
	}
	config := types.Config{Importer: l, Error: func(error) {}} // names of other modules are unknown
	p.types, _ = config.Check(name, p.files[0].set, trees, &types.Info{Uses: p.uses})
	return p.types, nil
}
