package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
	"github.com/stintdb/stint/persistence/entrylog"
)

// Usage is the help text of stint inspect.
const Usage = `Usage: stint inspect [--dump] PATH...

Describes the snapshots and journals in a directory, or single files, and checks
every block in them. It changes nothing and takes no lock, so you can use it on
the directory of a running server. In the directory of a cluster's node it
checks everything that the node reads at its start.

  --dump  write every record as one line of JSON to standard output, and the
          descriptions of the files to standard error

Exit code 0: all files are whole. A journal whose end is being written, or was
torn by a crash, counts as whole, because the next start cuts that end off.
1: a file is damaged or cannot be read. 2: wrong arguments, or there is nothing
to inspect.
`

// Run carries out stint inspect with its arguments.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := cli.NewFlags("inspect")
	dump := set.Bool("dump", false, "")
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return cli.Errorf("name a directory or files to inspect; 'stint inspect --help' explains")
	}
	line := progress.New(stderr)
	defer line.Clear()
	i := &inspector{ctx: ctx, out: line.Above(stdout), line: line}
	if *dump {
		i.out, i.dump = line.Above(stderr), newDumper(line.Above(stdout))
	}
	for _, path := range set.Args() {
		if err := i.path(path); err != nil {
			return err
		}
	}
	if i.damaged > 0 {
		return fmt.Errorf("%d of %d files are damaged, missing or unreadable", i.damaged, i.files)
	}
	return nil
}

// inspector reads files and describes their contents.
type inspector struct {
	ctx            context.Context
	out            io.Writer
	line           *progress.Line
	dump           *dumper // nil without --dump
	files, damaged int
}

// path inspects a directory or a file.
func (i *inspector) path(path string) error {
	info, err := os.Stat(path)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path, pathErr.Err)
	}
	switch {
	case !info.IsDir() && entrylog.IsFile(filepath.Base(path)):
		return i.logFile(path)
	case !info.IsDir() && disk.IsManifest(filepath.Base(path)):
		return i.manifest(path)
	case !info.IsDir():
		return i.file(disk.Dir(filepath.Dir(path)), filepath.Base(path), path, false)
	}
	if is, err := i.node(path); is || err != nil {
		return err
	}
	dir := disk.Dir(path)
	files, others, err := persistence.Files(dir)
	if err != nil {
		return err
	}
	if name, err := persistence.HoldsState(dir); name == "" || err != nil {
		return cli.Errorf("%s contains no snapshot or journal", path)
	}
	for _, name := range files {
		if err := i.file(dir, name, name, true); err != nil {
			return err
		}
	}
	for _, name := range others {
		fmt.Fprintf(i.out, "%s: not read by a server: an incomplete snapshot, or the copy that --repair makes of a damaged file\n", name)
	}
	missing, err := persistence.Missing(dir)
	for _, m := range missing {
		i.files++
		i.damaged++
		fmt.Fprintf(i.out, "%v\n", m)
	}
	return err
}

// manifest inspects the manifest of a directory.
func (i *inspector) manifest(path string) error {
	text, err := disk.DescribeManifest(disk.Dir(filepath.Dir(path)))
	if i.files++; err != nil {
		i.damaged++
		text = "DAMAGED: " + err.Error()
	}
	_, err = fmt.Fprintf(i.out, "%s: %s\n", path, text)
	return err
}

// file inspects one file. It skips a file that a running server removes during the inspection.
func (i *inspector) file(dir disk.Dir, name, shown string, mayVanish bool) error {
	report, err := persistence.Inspect(i.line.Files(i.ctx, dir), name, func(r persistence.Record) error {
		if i.dump != nil {
			return errors.Join(i.ctx.Err(), i.dump.record(shown, r))
		}
		return i.ctx.Err()
	})
	switch {
	case i.ctx.Err() != nil:
		return errors.New("interrupted")
	case mayVanish && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if i.files++; !report.Whole() {
		i.damaged++
	}
	if i.dump != nil {
		if err := i.dump.lines.Flush(); err != nil { // before the line about the file
			return err
		}
	}
	_, err = fmt.Fprintf(i.out, "%s: %s\n", shown, Describe(report))
	for _, refused := range report.Refused {
		fmt.Fprintf(i.out, "%s at offset %d: %v; a start with --repair leaves out only this record\n", shown, refused.Offset, refused.Err)
	}
	if more := report.RefusedCount - int64(len(report.Refused)); more > 0 {
		fmt.Fprintf(i.out, "%s: and %s more of that kind\n", shown, Count(more, "record"))
	}
	return err
}

// Describe returns a line with a file's contents and state.
func Describe(r persistence.Report) string {
	text := "whole"
	switch {
	case r.Torn:
		text = fmt.Sprintf("whole up to offset %d; the rest, %s, is being written, or torn by a crash", r.Damage.Offset, Count(r.Bytes-r.Damage.Offset, "byte"))
	case r.Damage != nil:
		text = fmt.Sprintf("DAMAGED at offset %d: %v; the counts are of the whole blocks", r.Damage.Offset, r.Damage.Err)
	case r.RefusedCount > 0:
		text = fmt.Sprintf("REFUSED by a server: %s cannot be applied", Count(r.RefusedCount, "record"))
	}
	text += fmt.Sprintf("; number %d, %s in %s", r.Number, Count(r.Bytes, "byte"), Count(r.Blocks, "block"))
	if r.Journal {
		text += ": " + Count(r.States, "state")
		if r.Deletions > 0 {
			text += ", " + Count(r.Deletions, "deletion")
		}
		if r.Flushes > 0 {
			text += ", " + Count(r.Flushes, "flush")
		}
	} else {
		text += ": " + Count(r.States, "key")
	}
	if r.Policies > 0 {
		text += ", " + Count(r.Policies, "change") + " of policies"
	}
	if r.Blocks > 0 {
		text += fmt.Sprintf(", from %s to %s", stamp(r.First), stamp(r.Last))
	}
	return text
}

// Count returns a number of things in words.
func Count(n int64, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "flush":
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func stamp(nanos int64) string { return time.Unix(0, nanos).UTC().Format("2006-01-02T15:04:05.000Z") }
