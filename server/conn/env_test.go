package conn

import (
	"bytes"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/latency"
	"github.com/stintdb/stint/server/loginlimit"
	"github.com/stintdb/stint/server/memlimit"
	"github.com/stintdb/stint/server/recent"
	"github.com/stintdb/stint/server/slowlog"
	"github.com/stintdb/stint/server/stats"
	"github.com/stintdb/stint/server/topkeys"
	"github.com/stintdb/stint/server/waitqueue"
)

// newEnv makes an environment for sessions on a store, without a server.
func newEnv(t testing.TB, keys *store.Store, clock *clock.Clock) *Env {
	cfg := config.Default()
	settings := &atomic.Pointer[config.Config]{}
	settings.Store(&cfg)
	users, err := acl.New(acl.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{
		Settings: settings, Clock: clock, Log: slog.New(slog.DiscardHandler), Decider: &decider.Local{Store: keys, Clock: clock}, Keys: keys, Users: users,
		WaitQueue: waitqueue.New(clock), Stats: stats.New(), TopKeys: topkeys.NewSketch(), Recent: recent.NewRecord(),
		SlowLog: slowlog.New(settings), Latency: latency.New(settings, clock), Buffers: &memlimit.Buffers{},
	}
	e.Logins = loginlimit.New(clock, e.WaitQueue)
	e.Buffers.Most.Store(1 << 30)
	e.Start()
	t.Cleanup(e.WaitQueue.Stop)
	return e
}

// frame is a command in RESP.
func frame(words ...[]byte) []byte {
	b := []byte("*" + strconv.Itoa(len(words)) + "\r\n")
	for _, w := range words {
		b = append(b, "$"+strconv.Itoa(len(w))+"\r\n"+string(w)+"\r\n"...)
	}
	return b
}

// frames are commands in RESP.
func frames(commands ...string) (b []byte) {
	for _, c := range commands {
		b = append(b, frame(bytes.Fields([]byte(c))...)...)
	}
	return b
}
