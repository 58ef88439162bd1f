package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
)

const restoreUsage = `Usage: stint restore FILE DIR

Puts a backup into DIR, which must not hold the state of a server yet. Then
start a standalone server with --dir DIR, and it continues from the backup. To
start a cluster from the FILE, use 'stint server --cluster-import FILE' on one
node.

The backup does not know tokens that were granted after it was made, so a limit
can be exceeded once, by its capacity at most.

Exit code 0: success. 1: the FILE is damaged or cannot be read, or DIR is in use
or holds state. 2: wrong arguments.
`

// restore is the command `stint restore`.
func (p *process) restore(ctx context.Context, args []string) error {
	set := cli.NewFlags("restore")
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	if set.NArg() != 2 {
		return cli.Errorf("restore: needs a backup and a directory; 'stint restore --help' explains")
	}
	from, dir := set.Arg(0), set.Arg(1)
	line := progress.New(p.stderr)
	defer line.Clear()
	report, err := checkBackup(ctx, from, line)
	if missing, is := errors.AsType[*fs.PathError](err); is {
		return fmt.Errorf("%s: %w", from, missing.Err)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be restored: %w; nothing was written", from, err)
	}
	unlock, err := disk.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := holdsNoState(dir); err != nil {
		return err
	}
	err = copyDurably(ctx, line, from, filepath.Join(dir, persistence.SnapshotName(report.Number)))
	if err == nil && report.HasIdentity {
		err = disk.Adopt(disk.Dir(dir), report.Number)
	}
	if err != nil {
		return fmt.Errorf("the backup cannot be stored: %w; %s is unchanged", err, dir)
	}
	out := line.Above(p.stdout)
	fmt.Fprintf(out, "%s: %s\n", dir, inspect.Describe(report))
	if ahead := time.Duration(report.Last - now().UnixNano()); ahead > persistence.MaxAhead {
		fmt.Fprintf(out, "its time is %s ahead of this machine's clock: set that clock, or start the server with --rewind\n", ahead.Round(time.Second))
	}
	return nil
}

// holdsNoState refuses a directory with files of a server or of a node.
func holdsNoState(dir string) error {
	name, err := persistence.HoldsState(disk.Dir(dir))
	if err != nil {
		return err
	}
	if name != "" || raftstore.HoldsNode(dir) != "" {
		return fmt.Errorf("%s already contains a server's state: name an empty or a new directory", dir)
	}
	return nil
}

// copyDurably copies a file until ctx is done. The copy gets its name once it is whole and on disk.
func copyDurably(ctx context.Context, line *progress.Line, from, to string) error {
	in, err := line.Files(ctx, disk.Dir(filepath.Dir(from))).Open(filepath.Base(from))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := atomicfile.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Abort()
		return err
	}
	return out.Commit()
}
