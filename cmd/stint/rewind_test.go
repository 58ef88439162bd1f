package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/persistence"
)

const year = 365 * 24 * time.Hour

// writeAhead writes a backup of a server whose clock is ahead: a policy, a string, and a key with 3 of 10 tokens of a
// day taken.
func writeAhead(t *testing.T, path string, ahead time.Duration) {
	t.Helper()
	keys, at := store.New(store.Config{}), time.Now().Add(ahead).UnixNano()
	defer keys.Close()
	daily := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 10, Period: int64(24 * time.Hour)}}
	keys.Apply(at, []engine.Op{
		{Key: []byte("k"), Limit: daily, Tokens: 3},
		{Verb: engine.SetPolicy, Key: []byte("api"), Parts: []engine.Op{{Key: []byte("api:{}"), Limit: daily, Tokens: 1}}},
	}, make([]engine.Result, 2))
	var backup bytes.Buffer
	if _, _, err := persistence.WriteBackup(&backup, keys, func() int64 { return at }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, backup.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// say sends commands and returns the replies.
func say(t *testing.T, address string, commands ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(testwait.Deadline())
	_, _ = io.WriteString(conn, strings.Join(commands, "\r\n")+"\r\nQUIT\r\n")
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// A state of the future is not followed silently. With --rewind nothing of it is lost, and time is true from then on.
func TestStateOfTheFuture(t *testing.T) {
	for _, mode := range []string{"interval", "always", "snapshot"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			writeAhead(t, filepath.Join(dir, persistence.SnapshotName(0)), year)
			args := []string{"--dir", dir, "--durability", mode}
			code, _, stderr := play(t, append([]string{"server", "--listen", "127.0.0.1:0", "--admin="}, args...)...)
			if code != exitFailed || !strings.Contains(stderr, "8760h0m0s ahead of this machine's clock, 20") || !strings.Contains(stderr, "start once with --rewind") {
				t.Errorf("exit %d: %s", code, stderr)
			}
			t.Run("rewound", func(t *testing.T) { wantTrueTime(t, serve(t, append(args, "--rewind=yes")...), 6) })
			t.Run("started again", func(t *testing.T) { wantTrueTime(t, serve(t, args...), 5) })
		})
	}
}

// wantTrueTime wants a server whose time is the machine's, and left tokens once one is taken.
func wantTrueTime(t *testing.T, address string, left int) {
	t.Helper()
	got := say(t, address, "TB.ACQUIRE k 10 10/d", fmt.Sprint("SET s x EXAT ", time.Now().Unix()+10_000), "TTL s", "RL.CHECK api u")
	if !regexp.MustCompile(fmt.Sprintf(`^\*5\r\n:1\r\n:10\r\n:%d\r\n:0\r\n:\d+\r\n\+OK\r\n:(9\d\d\d|10000)\r\n\*\d+\r\n:1\r\n`, left)).MatchString(got) {
		t.Errorf("%q", got)
	}
}

// A state that is a little ahead is followed: time does not go back.
func TestStateALittleAhead(t *testing.T) {
	dir := t.TempDir()
	writeAhead(t, filepath.Join(dir, persistence.SnapshotName(0)), persistence.MaxAhead-time.Second)
	address, admin := serveAdmin(t, "--dir", dir)
	if got := say(t, address, "TB.ACQUIRE k 10 10/d"); !strings.HasPrefix(got, "*5\r\n:1\r\n:10\r\n:6\r\n") {
		t.Errorf("%q", got)
	}
	metrics := testserver.GetText(t, "http://"+admin+"/metrics")
	ahead := regexp.MustCompile(`(?m)^stint_clock_ahead_seconds (5[5-9]\d)\.?\d*$`).FindString(metrics)
	if ahead == "" {
		t.Errorf("no metric is about the clock in\n%s", metrics)
	}
}

// The backup of a server, or of a cluster, whose time ran ahead begins a cluster at the true time.
func TestImportOfTheFuture(t *testing.T) {
	t.Parallel() // it waits
	copied, restored, peer := filepath.Join(t.TempDir(), "copy.stint"), filepath.Join(t.TempDir(), "restored"), testserver.ReserveAddress(t)
	writeAhead(t, copied, year)
	if code, stdout, stderr := play(t, "restore", copied, restored); code != exitOK || !strings.Contains(stdout, "its time is 8760h0m0s ahead") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	node := []string{"--node-id", "a", "--cluster-listen", peer, "--cluster-peers", peer, "--dir", t.TempDir(), "--cluster-heartbeat", "1s", "--decide-timeout", "20s"}
	for _, from := range []string{copied, restored} {
		args := append(append([]string{"server", "--listen", "127.0.0.1:0", "--admin="}, node...), "--cluster-import", from)
		if code, _, stderr := play(t, args...); code != exitFailed || !strings.Contains(stderr, "8760h0m0s ahead of this machine's clock") {
			t.Errorf("%s: exit %d: %s", from, code, stderr)
		}
	}
	address := serve(t, append(node, "--cluster-import", restored, "--rewind=yes")...)
	testwait.Until(t, "the cluster has begun with the import", func() bool { return strings.Contains(say(t, address, "EXISTS k"), ":1\r\n") })
	took := say(t, address, "TB.ACQUIRE k 10 10/d")
	if !strings.HasPrefix(took, "*5\r\n:1\r\n:10\r\n:6\r\n") {
		t.Errorf("%q", took)
	}
	set := say(t, address, fmt.Sprint("SET s x EXAT ", time.Now().Unix()+10_000), "TTL s")
	if !regexp.MustCompile(`^\+OK\r\n:(9\d\d\d|10000)\r\n`).MatchString(set) {
		t.Errorf("%q", set)
	}
}
