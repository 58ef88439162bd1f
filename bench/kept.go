package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kept are the figures of earlier runs, so that parts can be measured one by one and published together. Figures of
// another commit, on another machine or with other settings are not kept.
type Kept struct {
	Stamp string
	Parts map[string]KeptPart // by Part.name
}

// A KeptPart is what a run found about one part.
type KeptPart struct {
	OtherWork OtherWork
	Figures   Figures
}

// keptFile is in outDir.
const keptFile = "figures.gob"

// stamp is what runs have in common whose figures are published together.
func (r *Report) stamp() string {
	s := r.Settings
	return fmt.Sprint(r.Machine, s.Rounds, s.Cell, s.Keys, s.Kept, s.ManyKeys, s.Quick, s.Generators)
}

// readKept reads the figures that runs like this one have kept in a directory.
func readKept(dir string, r *Report) (k Kept, err error) {
	none := Kept{r.stamp(), map[string]KeptPart{}}
	file, err := os.Open(filepath.Join(dir, keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	defer file.Close()
	if err := gob.NewDecoder(file).Decode(&k); err != nil || k.Stamp != none.Stamp {
		return none, nil // of another program or another run
	}
	return k, nil
}

// add adds the parts of a run that were measured whole.
func (k Kept) add(r *Report) {
	for name, f := range r.Figures {
		if name != onlyServers || r.allServers() {
			k.Parts[name] = KeptPart{r.OtherWork, f}
		}
	}
}

// write keeps the figures for later runs.
func (k Kept) write(dir string) (err error) {
	file, err := os.Create(filepath.Join(dir, keptFile))
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(file).Encode(k), file.Close())
}

// report is a report with the kept figures too.
func (k Kept) report(r *Report) *Report {
	all := *r
	all.Figures = map[string]Figures{}
	for name, part := range k.Parts {
		all.Figures[name] = part.Figures
		if part.OtherWork.sum() > all.OtherWork.sum() {
			all.OtherWork = part.OtherWork
		}
	}
	return &all
}

// checkComplete names the parts that docs/performance.md would lack.
func (k Kept) checkComplete(e Env) error {
	var missing []string
	for _, p := range parts {
		_, kept := k.Parts[p.name]
		if !p.named && !kept && !(p.isMeasured(e) && (p.name != onlyServers || e.allServers())) {
			missing = append(missing, p.name)
		}
	}
	if missing == nil {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("-docs needs figures of the same commit, machine and settings for %s; measure them first, with -only %s",
		strings.Join(missing, ", "), strings.Join(missing, ","))
}
