package raftnode

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// fullLog is a log on a disk that may be full.
type fullLog struct {
	raft.LogStore
	err error
}

func (l *fullLog) StoreLogs([]*raft.Log) error { return l.err }

// The log says why it could not be written, until it is written again.
func TestWatchedLogSaysWhy(t *testing.T) {
	disk := &fullLog{}
	w := NewWatchedLog(disk, func() time.Duration { return 0 }, time.Second)
	for i, err := range []error{nil, errors.New("no space left on device"), errors.New("input/output error"), nil} {
		disk.err = err
		if got := w.StoreLog(&raft.Log{}); !errors.Is(got, err) || !errors.Is(w.Err(), err) {
			t.Errorf("%d: %v, then %v, want %v", i, got, w.Err(), err)
		}
	}
	logs := []*raft.Log{{}}
	if n := testing.AllocsPerRun(100, func() { _ = w.StoreLogs(logs) }); n != 0 {
		t.Errorf("a write that succeeds allocates %v times", n)
	}
}
