package stint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// mostUp bounds the arrows that point up among the files of a package, in percent, but any package may have fewUp; packages with more are listed with today's numbers, which may only
// fall. The files of a package are floors: an arrow points from a file to each other one whose names it uses.
const mostUp, fewUp = 10, 4

var moreUp = map[string]int{
	"cluster/fsm":       5,
	"cluster/purses":    5,
	"cluster/raftstore": 8,
	"cmd/stint/replay":  10,
	"engine/algorithm":  9,
	"engine/script":     5,
	"server":            7,
	"server/admin":      13,
	"server/command":    7,
	"server/envoy":      8,
	"server/netio":      4,
	"server/rlqs":       5,
}

// TestArrows puts the files of each package into the best order that it finds, and counts the arrows from a file to one above it.
func TestArrows(t *testing.T) {
	packages := checkedPackages(t)
	allUp, allArrows := map[string]int{}, map[string]int{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if !isProduct(dir) {
			continue
		}
		f := packages[dir].floors()
		wrong := f.up(f.order())
		if len(wrong) > 0 {
			t.Logf("%s: %d of %d arrows point up: %s", dir, len(wrong), len(f.arrows), strings.Join(wrong, ", "))
		}
		atMost(t, "arrows up", map[string]int{dir: len(wrong)}, max(fewUp, mostUp*len(f.arrows)/100), moreUp, "which names belong to a lower floor?")
		part, _, _ := strings.Cut(dir, "/")
		allUp[part] += len(wrong)
		allArrows[part] += len(f.arrows)
	}
	for _, part := range product {
		t.Logf("%s: %d of %d in all", part, allUp[part], allArrows[part])
	}
}

// checkedPackage is a package without its tests, and the objects that its names stand for.
type checkedPackage struct {
	files []sourceFile
	types *types.Package
	uses  map[*ast.Ident]types.Object
}

// checkedPackages has the packages of the module by their directories.
func checkedPackages(t *testing.T) map[string]*checkedPackage {
	t.Helper()
	all := map[string]*checkedPackage{}
	for dir, files := range filesOfPackages(t, func(sourceFile) bool { return true }) {
		all[dir] = checkPackage(dir, files, withoutImports{})
	}
	return all
}

// filesOfPackages has the files of each package by its directory, without tests and without the files that are not
// wanted.
func filesOfPackages(t *testing.T, isWanted func(sourceFile) bool) map[string][]sourceFile {
	t.Helper()
	all := map[string][]sourceFile{}
	for _, f := range sources(t) {
		if dir := path.Dir(f.name); !f.isTest() && isWanted(f) {
			all[dir] = append(all[dir], f)
		}
	}
	return all
}

// checkPackage finds what the names in the files of a package stand for. Names of packages that the importer does not
// know stand for nothing.
func checkPackage(name string, files []sourceFile, from types.Importer) *checkedPackage {
	p := &checkedPackage{files: files, uses: map[*ast.Ident]types.Object{}}
	trees := make([]*ast.File, len(files))
	for i, f := range files {
		trees[i] = f.tree
	}
	config := types.Config{Importer: from, Error: func(error) {}}
	p.types, _ = config.Check(name, files[0].set, trees, &types.Info{Uses: p.uses})
	return p
}

// withoutImports stands for all packages that are imported: arrows inside a package do not depend on them.
type withoutImports struct{}

func (withoutImports) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// fileAt is the file of a position.
func (p *checkedPackage) fileAt(at token.Pos) string { return p.files[0].set.Position(at).Filename }

// An arrow points from a file to one whose names it uses.
type arrow struct{ from, to string }

// floors are the files of a package, and the arrows between them.
type floors struct {
	files  []string
	arrows map[arrow]bool
}

func (p *checkedPackage) floors() floors {
	f := floors{arrows: map[arrow]bool{}}
	for use, object := range p.uses {
		if object.Pkg() != p.types || !object.Pos().IsValid() {
			continue
		}
		if a := (arrow{p.fileAt(use.Pos()), p.fileAt(object.Pos())}); a.from != a.to {
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
				wrong = append(wrong, fmt.Sprintf("%s to %s", path.Base(below), path.Base(above)))
			}
		}
	}
	return wrong
}
