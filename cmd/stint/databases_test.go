package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inDatabases are commands, and a server's answers after them.
var inDatabases, askDatabases = []string{
	"SET k zero", `TB.ACQUIRE l 5 1/d`, `SET "\xffdb\x01k" marked`,
	"SELECT 1", "SET k one EX 1000", "TB.ACQUIRE l 5 1/d 2", "RL.ALL TB a 5 1/d FW b 3 1h TOKENS 2 AS id FOR 1h",
	"SELECT 3", "SET gone 1", "HSET h f v", "DEL gone",
	"SELECT 4", "SET gone 1", "TB.ACQUIRE l 5 1/d", "FLUSHDB", "SET k four",
	"SELECT 15", "TB.ACQUIRE l 5 1/d 3", "EVAL 'return redis.call(\"INCR\", KEYS[1])' 1 counted",
}, [][2]string{
	{"GET k", `"zero"`}, {"TB.ACQUIRE l 5 1/d 1 PEEK", "[1 5 3 "}, {`GET "\xffdb\x01k"`, `"marked"`}, {"DBSIZE", "3"},
	{"SELECT 1", "+OK"}, {"GET k", `"one"`}, {"TB.ACQUIRE l 5 1/d 1 PEEK", "[1 5 2 "}, {"RL.SETTLE id 1", "[[1 5 4 "}, {"DBSIZE", "5"},
	{"SELECT 3", "+OK"}, {"KEYS *", `["h"]`}, {"HGET h f", `"v"`},
	{"SELECT 4", "+OK"}, {"KEYS *", `["k"]`}, {"TB.ACQUIRE l 5 1/d 1 PEEK", "[1 5 4 "},
	{"SELECT 15", "+OK"}, {"TB.ACQUIRE l 5 1/d 1 PEEK", "[1 5 1 "}, {"GET counted", `"1"`},
	{"SELECT 2", "+OK"}, {"DBSIZE", "0"},
}

func fillDatabases(t *testing.T, address string) {
	t.Helper()
	send := connect(t, address)
	for _, command := range inDatabases {
		if got := send(command); strings.HasPrefix(got, "-") {
			t.Fatalf("%s: %s", command, got)
		}
	}
}

func checkDatabases(t *testing.T, address string) {
	t.Helper()
	send := connect(t, address)
	for _, c := range askDatabases {
		if got := send(c[0]); !strings.HasPrefix(got, c[1]) {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// Databases survive a crash, by the journal, and a restart, by a snapshot; a backup has them; and a server with fewer
// does not start.
func TestDatabasesAreKept(t *testing.T) {
	dir, crashed, file, restored := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "b.stint"), filepath.Join(t.TempDir(), "new")
	t.Run("first", func(t *testing.T) {
		address, admin := serveAdmin(t, "--dir", dir, "--durability", "always")
		fillDatabases(t, address)
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil { // as after a crash: all is on disk before it is answered
			t.Fatal(err)
		}
		if code, _, stderr := play(t, "backup", "--admin", admin, file); code != exitOK {
			t.Fatal(stderr)
		}
	})
	if code, _, stderr := play(t, "restore", file, restored); code != exitOK {
		t.Fatal(stderr)
	}
	for name, dir := range map[string]string{"crash": crashed, "restart": dir, "backup": restored} {
		t.Run(name, func(t *testing.T) { checkDatabases(t, serve(t, "--dir", dir)) })
	}
	code, _, stderr := play(t, "server", "--listen", "127.0.0.1:0", "--admin=", "--dir", dir, "--databases", "15")
	if want := "has keys in database 15, so --databases must be at least 16"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("with fewer databases: exit %d, %s", code, stderr)
	}
	code, _, stderr = play(t, "server", "--listen", "127.0.0.1:0", "--admin=", "--dir", t.TempDir(), "--node-id", "a",
		"--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999", "--cluster-insecure", "--cluster-import", dir)
	if want := "has keys in databases other than 0, which a cluster does not have"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("into a cluster: exit %d, %s", code, stderr)
	}
	code, stdout, stderr := play(t, "inspect", "--dump", dir)
	if code != exitOK || !strings.Contains(stdout, `"type":"state","database":15,"key":"counted","algorithm":"string"`) ||
		!strings.Contains(stdout, `"type":"state","key_base64":"/2RiAWs="`) || !strings.Contains(stdout, `"algorithm":"fixed-window","key":"b"`) {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}
