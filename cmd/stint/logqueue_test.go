package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stintdb/stint/cmd/stint/logqueue"
	"github.com/stintdb/stint/server/config"
)

// While the log is not read, no caller waits. The number of lost lines is logged.
func TestLogOfAStalledReader(t *testing.T) {
	for format, want := range map[string]string{"text": "lines=", "json": `"lines":`} {
		synctest.Test(t, func(t *testing.T) { playStalledReader(t, format, want) })
	}
}

func playStalledReader(t *testing.T, format, want string) {
	cfg := config.Default()
	cfg.LogFormat = format
	from, to := io.Pipe()
	log, _, flush := newLogger(cfg, to)
	long := strings.Repeat("x", 1000)
	for range 3 * logqueue.MaxBytes / len(long) {
		log.Warn("before", "long", long)
	}
	var read strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&read, from)
	}()
	log.Warn("one more, perhaps lost")
	flush(false)
	log.Warn("the last line")
	flush(true)
	log.Warn("after the end")
	_ = to.Close()
	<-ended
	got := read.String()
	if lines := strings.Count(got, "\n"); lines < logqueue.MaxBytes/2/len(long) || lines > 2*logqueue.MaxBytes/len(long) || len(got) > 2*logqueue.MaxBytes+4096 {
		t.Errorf("%s: %d lines, %d bytes", format, lines, len(got))
	}
	if !strings.Contains(got, "lines of the log were lost") || !strings.Contains(got, want) || !strings.Contains(got, "the last line") || strings.Contains(got, "after the end") {
		t.Errorf("%s: ends with %s", format, got[max(0, len(got)-400):])
	}
}

// A reader that never reads again does not keep the server from ending.
func TestLogOfAReaderThatIsGone(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		_, to := io.Pipe()
		log, _, flush := newLogger(config.Default(), to)
		log.Warn("nobody reads this")
		flush(true)
		_ = to.Close()
	})
}

// A writer that fails for a time, such as a full disk, loses no line silently, and does not make the queue write about
// its own losses.
func TestLogOfAWriterThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &failing{isFull: true}
		log, _, flush := newLogger(config.Default(), to)
		for range 3 {
			log.Warn("lost")
			flush(false)
		}
		if n := to.failed; n != 3 {
			t.Errorf("%d lines were tried, want the 3 that were logged", n)
		}
		to.isFull = false
		log.Warn("written")
		flush(false)
		flush(true)
		if got := to.text.String(); !strings.Contains(got, "written") || !strings.Contains(got, "lines=3") {
			t.Errorf("the log is %s", got)
		}
	})
}

// failing is a file on a disk that may be full.
type failing struct {
	isFull bool
	failed int
	text   strings.Builder
}

func (f *failing) Write(b []byte) (int, error) {
	if f.isFull {
		f.failed++
		return 0, errors.New("no space left on device")
	}
	return f.text.Write(b)
}
