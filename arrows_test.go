package stint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostUp bounds the arrows that point up among the files of a part's packages, in percent. Files of a package are floors: an arrow points from
// a file to each one of the part whose names it uses. Between packages none can point up.
const mostUp = 10

// TestArrows puts the files of each package into the best order that it finds, and counts the arrows from a file to one above it.
func TestArrows(t *testing.T) {
	for _, part := range []string{"engine", "server", "cluster", "persistence"} {
		all, up := 0, 0
		for _, dir := range packagesOf(t, part) {
			f := floorsOf(t, dir)
			order := f.order()
			wrong := f.up(order)
			all, up = all+len(f.arrows)+f.below, up+len(wrong)
			if len(wrong) > 0 {
				t.Logf("%s: %d of %d arrows point up: %s", dir, len(wrong), len(f.arrows), strings.Join(wrong, ", "))
			}
		}
		t.Logf("%s: %d of %d in all", part, up, all)
		if all == 0 || up*100 > mostUp*all {
			t.Errorf("%s: %d of %d arrows between files point up, more than %d %%: move names to the floor that they belong to", part, up, all, mostUp)
		}
	}
}

func packagesOf(t *testing.T, part string) (dirs []string) {
	err := filepath.WalkDir(part, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			dirs = append(dirs, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// An arrow points from a file to one whose names it uses.
type arrow struct{ from, to string }

// floors are the files of a package, and the arrows between them.
type floors struct {
	files  []string
	arrows map[arrow]bool
	below  int // arrows to files of other packages of the part
}

// withoutImports stands for all packages that are imported: arrows inside a package do not depend on them.
type withoutImports struct{}

func (withoutImports) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

func floorsOf(t *testing.T, dir string) floors {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var trees []*ast.File
	f := floors{arrows: map[arrow]bool{}}
	part, _, _ := strings.Cut(filepath.ToSlash(dir), "/")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
		f.below += arrowsBelow(t, part, tree)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: withoutImports{}, Error: func(error) {}} // names of other packages are unknown
	p, _ := config.Check(dir, set, trees, &info)
	for use, object := range info.Uses {
		if object.Pkg() != p || !object.Pos().IsValid() {
			continue
		}
		a := arrow{filepath.Base(set.Position(use.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)}
		if a.from != a.to {
			f.arrows[a] = true
		}
	}
	for a := range f.arrows {
		f.files = append(f.files, a.from, a.to)
	}
	slices.Sort(f.files)
	f.files = slices.Compact(f.files)
	return f
}

// arrowsBelow counts the files of other packages of the part whose names a file uses.
func arrowsBelow(t *testing.T, part string, tree *ast.File) int {
	imported := map[string]string{} // by the name in the file: the directory
	for _, one := range tree.Imports {
		dir, ours := strings.CutPrefix(strings.Trim(one.Path.Value, `"`), module+"/")
		if ours && (dir == part || strings.HasPrefix(dir, part+"/")) {
			imported[path.Base(dir)] = dir
		}
	}
	used := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is && imported[x.Name] != "" {
				if file := filesOfNames(t, imported[x.Name])[s.Sel.Name]; file != "" {
					used[file] = true
				}
			}
		}
		return true
	})
	return len(used)
}

// filesOfNames has the file of each name that a package declares.
func filesOfNames(t *testing.T, dir string) map[string]string {
	if known := fileOfName[dir]; known != nil {
		return known
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name := range tree.Scope.Objects {
			all[name] = file
		}
	}
	fileOfName[dir] = all
	return all
}

var fileOfName = map[string]map[string]string{} // by directory

// order is the files from the top to the bottom: repeatedly the one with the most arrows out beyond those in, then each moved to its best
// place until nothing improves (Eades, Lin and Smyth 1993, with local search).
func (f floors) order() (order []string) {
	left := slices.Clone(f.files)
	for len(left) > 0 {
		best, most := 0, -len(f.files)
		for i, one := range left {
			balance := 0
			for _, other := range left {
				balance += f.count(one, other) - f.count(other, one)
			}
			if balance > most {
				best, most = i, balance
			}
		}
		order = append(order, left[best])
		left = slices.Delete(left, best, best+1)
	}
	for improved := true; improved; {
		improved = false
		for i := range order {
			to, best := i, 0
			for _, step := range []int{-1, 1} {
				for j, sum := i+step, 0; j >= 0 && j < len(order); j += step {
					sum += step * (f.count(order[j], order[i]) - f.count(order[i], order[j]))
					if sum > best {
						to, best = j, sum
					}
				}
			}
			if to != i {
				one := order[i]
				order = slices.Insert(slices.Delete(order, i, i+1), to, one)
				improved = true
			}
		}
	}
	return order
}

func (f floors) count(from, to string) int {
	if f.arrows[arrow{from, to}] {
		return 1
	}
	return 0
}

// up lists the arrows from a file to one above it.
func (f floors) up(order []string) (wrong []string) {
	for i, above := range order {
		for _, below := range order[i+1:] {
			if f.arrows[arrow{below, above}] {
				wrong = append(wrong, fmt.Sprintf("%s to %s", below, above))
			}
		}
	}
	return wrong
}
