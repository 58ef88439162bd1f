package flakiness

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// bubbleTypes exist in synctest bubbles only, also where functions that have one as an argument are made outside of
// them.
var bubbleTypes = []string{"cluster.simulated", "cluster.world", "cluster.memDisk"}

// goPackage is the test code of one directory: its tests, or all of a package that only tests import.
type goPackage struct {
	set       *token.FileSet
	files     []sourceFile
	functions []function
}

// function is one declaration of a function, or of variables, whose values may be functions.
type function struct {
	file     sourceFile
	name     string // without the receiver
	receiver string // type of the receiver, "" for none
	node     ast.Node
	isReal   bool // it runs by the machine's clock
}

// sourceFile is a file of Go.
type sourceFile struct {
	name string // slash-separated, from the root
	tree *ast.File
}

// textFile is a test in another language.
type textFile struct {
	name  string
	lines []string
}

// testSources reads the tests of the repository, in all modules and with all build tags, once.
var testSources = sync.OnceValues(func() (packages []*goPackage, texts []textFile) {
	set, byDir := token.NewFileSet(), map[string][]sourceFile{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && name != ".ci" && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		case !isTestCode(name):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(name, ".go") {
			texts = append(texts, newTextFile(name, string(text)))
			return err
		}
		tree, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		byDir[path.Dir(name)] = append(byDir[path.Dir(name)], sourceFile{name, tree})
		return err
	})
	if err != nil {
		panic(err)
	}
	for _, files := range byDir {
		packages = append(packages, newGoPackage(set, files))
	}
	return packages, texts
})

const root = "../.." // of the repository

// forTests are packages that only tests import.
var forTests = []string{"server/transcripttest", "server/clock/clocktest", "server/servertest"}

// isTestCode reports whether a file is part of tests.
func isTestCode(name string) bool {
	switch path.Ext(name) {
	case ".go":
		return strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "internal/flakiness/") || // which has snippets of the rules
			strings.HasPrefix(name, "internal/test") || strings.Contains(name, "/internal/servertest/") || slices.Contains(forTests, path.Dir(name))
	case ".mjs":
		return strings.HasPrefix(name, "clients/node/test/")
	case ".py":
		return strings.HasPrefix(name, "clients/python/tests/")
	case ".java":
		return strings.HasPrefix(name, "clients/java/") && strings.Contains(name, "/src/test/")
	}
	return strings.HasPrefix(name, ".ci/")
}

func newTextFile(name, text string) textFile {
	return textFile{name, strings.Split(text, "\n")}
}

func newGoPackage(set *token.FileSet, files []sourceFile) *goPackage {
	p := &goPackage{set: set, files: files}
	for _, f := range files {
		for _, decl := range f.tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				p.functions = append(p.functions, function{file: f, name: d.Name.Name, receiver: receiverOf(d), node: d})
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, is := spec.(*ast.ValueSpec); is {
						for _, name := range v.Names {
							p.functions = append(p.functions, function{file: f, name: name.Name, node: v})
						}
					}
				}
			}
		}
	}
	p.markReal()
	return p
}

func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	kind := d.Recv.List[0].Type
	if star, is := kind.(*ast.StarExpr); is {
		kind = star.X
	}
	if generic, is := kind.(*ast.IndexExpr); is {
		kind = generic.X
	}
	name, _ := kind.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// made is the type of which an expression makes a value, nil for none.
func made(n ast.Node) *ast.Ident {
	var kind ast.Expr
	switch n := n.(type) {
	case *ast.CompositeLit:
		kind = n.Type
	case *ast.ValueSpec:
		kind = n.Type
	case *ast.CallExpr: // a conversion, or new
		if kind = n.Fun; isName(kind, "new") {
			kind = n.Args[0]
		}
	}
	name, _ := kind.(*ast.Ident)
	return name
}

// body is the node without the receiver and the parameters.
func (f *function) body() ast.Node {
	if d, is := f.node.(*ast.FuncDecl); is && d.Body != nil {
		return d.Body
	}
	return f.node
}

// markReal finds the functions that run by the machine's clock: the ones that tests reach outside of synctest bubbles.
// A function that makes a value of a type reaches all methods of the type, because they may be called through an
// interface.
func (p *goPackage) markReal() {
	named, methods := map[[2]string][]*function{}, map[string][]*function{}
	var next []*function
	reach := func(all []*function) {
		for _, f := range all {
			if !f.isReal && !slices.Contains(bubbleTypes, path.Dir(f.file.name)+"."+f.receiver) {
				f.isReal = true
				next = append(next, f)
			}
		}
	}
	for i := range p.functions {
		f := &p.functions[i]
		key := [2]string{f.receiver, f.name}
		named[key], methods[f.receiver] = append(named[key], f), append(methods[f.receiver], f)
	}
	for i := range p.functions {
		f := &p.functions[i]
		isRoot := strings.HasPrefix(f.name, "Test") || strings.HasPrefix(f.name, "Fuzz") || f.name == "init" || f.name == "_"
		if !strings.HasSuffix(f.file.name, "_test.go") || f.receiver == "" && isRoot {
			reach([]*function{f})
		}
	}
	uses := p.resolve()
	for len(next) > 0 {
		f := next[0]
		next = next[1:]
		outsideBubbles(f.body(), func(n ast.Node) {
			if o, is := uses[made(n)].(*types.TypeName); is {
				reach(methods[o.Name()])
			}
			name, _ := n.(*ast.Ident)
			switch o := uses[name].(type) {
			case *types.Func:
				reach(named[[2]string{typeNameOf(o), o.Name()}])
			case *types.Var:
				if o.Parent() == o.Pkg().Scope() {
					reach(named[[2]string{"", o.Name()}])
				}
			}
		})
	}
}

// typeNameOf is the type that a method belongs to, "" for a function.
func typeNameOf(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return ""
	}
	kind := recv.Type()
	if pointer, is := kind.(*types.Pointer); is {
		kind = pointer.Elem()
	}
	if named, is := kind.(*types.Named); is {
		return named.Obj().Name()
	}
	return ""
}

// resolve finds the declarations of the names in a package. Other packages are left out, and with them the names that
// depend on them.
func (p *goPackage) resolve() (uses map[*ast.Ident]types.Object) {
	uses = map[*ast.Ident]types.Object{}
	byName := map[string][]*ast.File{} // a test may be in the package or beside it
	for _, f := range p.files {
		byName[f.tree.Name.Name] = append(byName[f.tree.Name.Name], f.tree)
	}
	config := types.Config{Error: func(error) {}, Importer: noPackages{}, DisableUnusedImportCheck: true}
	for name, files := range byName {
		_, _ = config.Check(name, p.set, files, &types.Info{Uses: uses})
	}
	return uses
}

// noPackages imports packages without any contents.
type noPackages struct{}

func (noPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(strings.TrimSuffix(name, "/v2")))
	p.MarkComplete()
	return p, nil
}

// isBubble reports whether a call runs a function in a synctest bubble.
func isBubble(n ast.Node) bool {
	call, is := n.(*ast.CallExpr)
	return is && isSelector(call.Fun, "synctest", "Test")
}

// outsideBubbles visits the nodes that are in no synctest bubble.
func outsideBubbles(n ast.Node, visit func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil || isBubble(n) {
			return false
		}
		visit(n)
		return true
	})
}

// isSelector reports whether an expression is from.name.
func isSelector(e ast.Expr, from, name string) bool {
	s, is := e.(*ast.SelectorExpr)
	return is && s.Sel.Name == name && isName(s.X, from)
}

func isName(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

// snippetPackage makes a package of one file. The tests of the rules use it.
func snippetPackage(name, body string) (*goPackage, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, "package snippet\n"+body, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return newGoPackage(set, []sourceFile{{name, tree}}), nil
}
