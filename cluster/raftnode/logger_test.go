package raftnode

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// A peer that is gone is in the log once a minute, and hides nothing else.
func TestRaftLogOfAPeerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newRaftLogger(slog.New(slog.NewTextHandler(&out, nil)))
		for range 150 {
			for _, peer := range []raft.ServerAddress{"b:7379", "c:7379"} {
				l.Error("failed to heartbeat to", "peer", peer, "error", errors.New("refused"))
			}
			l.Error("failed to make requestVote RPC", "target", raft.Server{ID: "b", Address: "b:7379"}, "error", errors.New("refused"))
			l.Error("failed to get log", "index", 7, "error", raft.ErrLogNotFound)
			l.Error("failed to get log", "index", 8, "error", errors.New("the disk"))
			time.Sleep(time.Second)
		}
		for text, want := range map[string]int{"cannot reach a node; it catches up once it is back\" peer=b": 3, "peer=c": 3, "target": 0,
			"failed to get log": 150} {
			if got := strings.Count(out.String(), text); got != want {
				t.Errorf("%q is there %d times, not %d", text, got, want)
			}
		}
	})
}
