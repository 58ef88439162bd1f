// Package progress shows in a terminal how far a long task is.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stintdb/stint/persistence/disk"
)

// Line shows how far a long task is, in the last line of a terminal. Without a terminal, and if it is nil, it shows
// nothing except the lines of OrLines. It is safe for concurrent use.
type Line struct {
	mu    sync.Mutex
	out   io.Writer // nil without a terminal
	next  time.Time // not to be changed before
	shown bool
	lines bool // out is no terminal, and gets a line of its own now and then
}

const (
	progressEvery = 200 * time.Millisecond
	linesEvery    = 3 * time.Second
	clearLine     = "\r\x1b[K"
)

// New returns a line on out, which is shown once the task has taken progressEvery.
func New(out io.Writer) *Line {
	l := &Line{next: time.Now().Add(progressEvery)}
	if IsTerminal(out) {
		l.out = out
	}
	return l
}

// OnTerminal returns a line on a terminal, which is shown at once.
func OnTerminal(out io.Writer) *Line { return &Line{out: out} }

// OrLines makes l write a line to out every linesEvery if out is no terminal.
func (l *Line) OrLines(out io.Writer) {
	if l.out == nil {
		l.out, l.lines, l.next = out, true, time.Now().Add(linesEvery)
	}
}

// IsTerminal reports whether out is a device such as a terminal.
func IsTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	if !is {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Show replaces the line, at most every progressEvery. Keep the text short: a line that wraps is not cleared as a
// whole.
func (l *Line) Show(text func() string) {
	if l == nil || l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		return
	}
	if l.lines {
		l.next = now.Add(linesEvery)
		fmt.Fprintln(l.out, text())
		return
	}
	l.next, l.shown = now.Add(progressEvery), true
	fmt.Fprint(l.out, clearLine, text())
}

// Clear removes the line.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.out, clearLine)
		l.shown = false
	}
}

// Follow shows text, and updates it, until the caller calls hide.
func (l *Line) Follow(text func() string) (hide func()) {
	if l == nil || l.out == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		ticks := time.NewTicker(progressEvery / 4)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				l.Show(text)
			}
		}
	})
	return func() {
		close(ended)
		following.Wait()
		l.Clear()
	}
}

// Above returns a writer to the same terminal, or to another place: the line is removed before each write.
func (l *Line) Above(to io.Writer) io.Writer { return &aboveLine{l, to} }

type aboveLine struct {
	line *Line
	to   io.Writer
}

func (a *aboveLine) Write(p []byte) (int, error) {
	a.line.Clear()
	return a.to.Write(p)
}

// Files is a directory whose files show how much of them was read. Once ctx is done, reading them fails with its error.
func (l *Line) Files(ctx context.Context, dir disk.Dir) disk.FS { return shownFiles{dir, ctx, l} }

type shownFiles struct {
	disk.Dir
	ctx  context.Context
	line *Line
}

// Open implements [disk.FS].
func (f shownFiles) Open(name string) (io.ReadCloser, error) {
	if disk.IsManifest(name) { // it is short, and read before the others
		return f.Dir.Open(name)
	}
	file, err := os.Open(filepath.Join(string(f.Dir), name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return &shownFile{File: file, ctx: f.ctx, line: f.line, size: info.Size()}, nil
}

// shownFile is a file that is read from its beginning to its end.
type shownFile struct {
	*os.File
	ctx        context.Context
	line       *Line
	read, size int64
}

func (f *shownFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.read += int64(n)
	f.line.Show(func() string {
		return fmt.Sprintf("reading %s: %d %% of %d MB", filepath.Base(f.Name()), 100*f.read/max(1, f.size), f.size>>20)
	})
	return n, err
}
