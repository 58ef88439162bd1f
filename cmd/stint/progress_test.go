package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/persistence"
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

// A run shows its time and the requests so far.
func TestBenchShowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		plan := &benchPlan{Command: []string{"PING"}, Connections: 1, Pipeline: 1, Keys: 1, Rate: 10, duration: 3 * time.Second,
			alarm: func() alarm { return alarm{} }, line: &progressLine{out: &out}}
		plan.dial = func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go answerWithStall(theirs)
			return ours, nil
		}
		if _, err := plan.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), clearLine)
		if len(lines) != 17 || lines[16] != "" || lines[11] != "2 s of 3s, 21 requests, 10 a second" {
			t.Errorf("shows %q", lines)
		}
	})
}

// A start shows the files that it reads, and inspect does too.
func TestFilesShowHowMuchWasRead(t *testing.T) {
	dir := stateDir(t)
	for task, read := range map[string]func(l *progressLine) error{
		"recovery": func(l *progressLine) error {
			_, err := persistence.Recover(l.files(persistence.Dir(dir)), engine.New(engine.Config{Shards: 1}), 0, false, slog.New(slog.DiscardHandler))
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
