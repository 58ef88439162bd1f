package progress

import (
	"bytes"
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
		l := New(&out)
		l.out = &out
		for n := range 100 {
			l.Show(func() string { return fmt.Sprint(n) })
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprintln(l.Above(&out), "result")
		l.Clear()
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
		l := New(out)
		l.next = time.Time{}
		l.Show(func() string { t.Errorf("shown in %T", out); return "" })
	}
}

// In a pipe, a long task may write a line now and then.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(&out)
		l.OrLines(&out)
		began := time.Now()
		for range 8 {
			l.Show(func() string { return time.Since(began).String() })
			time.Sleep(time.Second)
		}
		l.Clear()
		if want := "3s\n6s\n"; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	})
}

// A task that does not report by itself is followed until it ends.
func TestProgressFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		began := time.Now()
		hide := OnTerminal(&out).Follow(func() string { return time.Since(began).String() })
		time.Sleep(470 * time.Millisecond)
		hide()
		if want := clearLine + "50ms" + clearLine + "250ms" + clearLine + "450ms" + clearLine; out.String() != want {
			t.Errorf("shows %q, want %q", out.String(), want)
		}
	})
}

// A start shows the files that it reads.
func TestFilesShowHowMuchWasRead(t *testing.T) {
	dir := t.TempDir() // which recovery may change
	if err := os.CopyFS(dir, os.DirFS("../../../persistence/testdata/golden/v2")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	if _, err := persistence.Recover(OnTerminal(&out).Files(t.Context(), disk.Dir(dir)), s, 0, false, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, clearLine+"reading snapshot-") || !strings.HasSuffix(text, " % of 0 MB") {
		t.Errorf("shows %q", text)
	}
}
