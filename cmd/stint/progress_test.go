package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
)

// The line changes at most five times a second, and is gone before other text.
func TestProgressLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newProgressLine(&out)
		l.out = &out
		for n := range 100 {
			l.show(func() string { return fmt.Sprint(n) })
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprintln(l.above(&out), "result")
		l.clear()
		if want := clearLine + "20" + clearLine + "40" + clearLine + "60" + clearLine + "80" + clearLine + "result\n"; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	})
}

// Anywhere but on a terminal, there is no progress.
func TestProgressOnlyOnATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, out := range []io.Writer{file, new(bytes.Buffer)} {
		l := newProgressLine(out)
		l.next = time.Time{}
		l.show(func() string { t.Errorf("shown in %T", out); return "" })
	}
}

// In a pipe, a long task may write a line now and then.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newProgressLine(&out)
		l.orLines(&out)
		began := time.Now()
		for range 25 {
			l.show(func() string { return time.Since(began).String() })
			time.Sleep(time.Second)
		}
		l.clear()
		if want := "10s\n20s\n"; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	})
}

// A task that does not report by itself is followed until it ends.
func TestProgressFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		hide := (&progressLine{out: &out}).follow(func() string { return time.Since(began).String() })
		time.Sleep(470 * time.Millisecond)
		hide()
		if want := clearLine + "50ms" + clearLine + "250ms" + clearLine + "450ms" + clearLine; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	})
}

// A start shows the files that it reads, and inspect does too.
func TestFilesShowHowMuchWasRead(t *testing.T) {
	dir := stateDir(t)
	for task, read := range map[string]func(l *progressLine) error{
		"recovery": func(l *progressLine) error {
			_, err := persistence.Recover(l.files(disk.Dir(dir)), store.New(store.Config{Shards: 1}), 0, false, slog.New(slog.DiscardHandler))
			return err
		},
		"inspect": func(l *progressLine) error {
			return (&inspector{ctx: context.Background(), out: io.Discard, line: l}).path(dir)
		},
	} {
		var out bytes.Buffer
		if err := read(&progressLine{out: &out}); err != nil {
			t.Fatal(task, err)
		}
		if text := out.String(); !strings.HasPrefix(text, clearLine+"reading snapshot-") || !strings.HasSuffix(text, " % of 0 MB") {
			t.Errorf("%s shows %q", task, text)
		}
	}
}
