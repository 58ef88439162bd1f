package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/server/transcripttest"
)

// connect returns a function that sends a command to a server on one connection, and returns the reply in the notation
// of transcripts.
func connect(t *testing.T, address string) func(command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	replies := bufio.NewReader(conn)
	return func(command string) string {
		t.Helper()
		if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
			t.Error(err)
			return ""
		}
		reply, err := transcripttest.ReadReply(replies)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		return reply
	}
}

// remaining is the third number of a reply to TB.ACQUIRE.
func remaining(t *testing.T, reply string) int {
	t.Helper()
	fields := strings.Fields(strings.Trim(reply, "[]"))
	if len(fields) < 3 {
		t.Fatalf("got %s", reply)
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil {
		t.Fatalf("got %s", reply)
	}
	return n
}

// A backup that is made while clients take tokens has of each key the state of a moment between the begin and the end,
// and a server that is started with it continues there.
func TestBackupUnderLoad(t *testing.T) {
	const keys, workers = 200, 4
	for _, dir := range []string{"", t.TempDir()} {
		t.Run("dir="+filepath.Base(dir), func(t *testing.T) {
			file, restored := filepath.Join(t.TempDir(), "b.stint"), filepath.Join(t.TempDir(), "new")
			address, admin := serveAdmin(t, "--dir", dir)
			first := connect(t, address)
			for _, command := range []string{"RL.POLICY SET p TB u:{} 5 1/s", "SET text old", "SCRIPT LOAD 'return 7'", "FW.ACQUIRE w 3 1h"} {
				if got := first(command); strings.HasPrefix(got, "-") {
					t.Fatalf("%s: %s", command, got)
				}
			}
			take := func(send func(string) string, key int) int {
				return remaining(t, send(fmt.Sprintf("TB.ACQUIRE k%d 800000 1/1h", key)))
			}
			var atLeast, atMost [keys]int // tokens that a key had at the end of the backup, and when it began
			stop := make(chan struct{})
			var busy, begun sync.WaitGroup
			begun.Add(workers)
			for w := range workers {
				send := connect(t, address)
				busy.Go(func() {
					for n := 0; ; n++ {
						if n == keys {
							begun.Done()
						}
						select {
						case <-stop:
							return
						default:
							send(fmt.Sprintf("TB.ACQUIRE k%d 800000 1/1h", (n*7+w)%keys))
						}
					}
				})
			}
			for k := range keys {
				atMost[k] = take(first, k)
			}
			begun.Wait()
			code, stdout, stderr := play(t, "backup", "--admin", admin, file)
			for k := range keys {
				atLeast[k] = take(first, k)
			}
			close(stop)
			busy.Wait()
			if code != exitOK || !strings.Contains(stdout, "whole; number 0, ") || !strings.Contains(stdout, "key") {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			if code, stdout, stderr := play(t, "restore", file, restored); code != exitOK {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			second := connect(t, serve(t, "--dir", restored))
			moved := 0
			for k := range keys {
				switch got := take(second, k) + 1; {
				case got < atLeast[k] || got > atMost[k]:
					t.Errorf("k%d has %d tokens, was between %d and %d", k, got, atLeast[k], atMost[k])
				case got < atMost[k]:
					moved++
				}
			}
			if moved == 0 {
				t.Error("nothing was taken during the backup: this test shows nothing")
			}
			for command, want := range map[string]string{"RL.POLICY LIST": `["p"]`, "GET text": `"old"`, "EVALSHA " + scriptcache.Digest([]byte("return 7")) + " 0": "7", "FW.ACQUIRE w 3 1h": "[1 3 1 "} {
				if got := second(command); !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s, want %s", command, got, want)
				}
			}
		})
	}
}

// A file that is cut short or changed anywhere is refused with its name, and leaves the directory as it was.
func TestDamagedBackup(t *testing.T) {
	dir := t.TempDir()
	address, admin := serveAdmin(t)
	send := connect(t, address)
	for k := range 3000 {
		send(fmt.Sprintf("TB.ACQUIRE key-%d 10 1/h", k))
	}
	file := filepath.Join(dir, "b.stint")
	if code, _, stderr := play(t, "backup", "--admin", admin, file); code != exitOK {
		t.Fatal(stderr)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged, data := filepath.Join(dir, "damaged"), filepath.Join(dir, "data")
	refuse := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := play(t, "restore", damaged, data); code != exitFailed || !strings.Contains(stderr, damaged+" cannot be restored: damaged at offset") {
			t.Errorf("%s: exit %d, %s", what, code, stderr)
		}
		if _, err := os.Stat(data); err == nil {
			t.Fatalf("%s: %s was made", what, data)
		}
	}
	refuse("empty", nil)
	for at := 0; at < len(whole); at += len(whole)/50 + 1 {
		refuse(fmt.Sprintf("cut at %d", at), whole[:at])
		if bytes.Count(whole[at:at+1], []byte{0}) == 0 { // between blocks there are zeros that nobody reads
			changed := bytes.Clone(whole)
			changed[at] ^= 1
			refuse(fmt.Sprintf("changed at %d", at), changed)
		}
	}
	for _, args := range [][]string{{"restore", file, data}, {"restore", file, data}} {
		code, _, stderr := play(t, args...)
		if was, again := code == exitOK, strings.Contains(stderr, "already contains a server's state"); was == again {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
	if code, _, stderr := play(t, "restore", filepath.Join(dir, "none"), data); code != exitFailed || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Who may not see the state gets no backup, and the older file stays.
func TestBackupIsRefused(t *testing.T) {
	dir := t.TempDir()
	file, wrong := filepath.Join(dir, "b.stint"), "wrong"
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens := fstest.MapFS{wrong: {Data: []byte("guess\n")}, "right": {Data: []byte("long and random\n")}, "empty": {Data: []byte("\n")}}
	_, withToken := serveAdmin(t, "--admin-token", "secret")
	address, withPassword := serveAdmin(t, "--requirepass", "long and random")
	send := connect(t, address)
	for _, command := range []string{"AUTH 'long and random'", "ACL SETUSER reader on '>long and random' ~* +@read", "ACL SETUSER some on '>long and random' ~a* +@all",
		"ACL SETUSER keeper on '>long and random' ~* +save"} {
		if got := send(command); got != "+OK" {
			t.Fatal(command, got)
		}
	}
	expect := func(code int, says string, environ []string, args ...string) {
		t.Helper()
		var stdout, stderr strings.Builder
		p := &process{environ: environ, readFile: tokens.ReadFile, stdout: &stdout, stderr: &stderr}
		if got := p.run(t.Context(), append([]string{"backup"}, args...)); got != code || !strings.Contains(stderr.String()+stdout.String(), says) {
			t.Errorf("%v: exit %d, %s%s", args, got, &stdout, &stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Errorf("%v leaves %v", args, left)
		}
		if content, _ := os.ReadFile(file); code != exitOK && string(content) != "old" {
			t.Errorf("%v changed the older backup: %q", args, content)
		}
	}
	expect(exitFailed, "the server needs its --admin-token: put it into a file, and name the file with --token-file", nil, "--admin", withToken, file)
	expect(exitFailed, "the token is wrong", nil, "--admin", withToken, "--token-file", wrong, file)
	expect(exitFailed, "the server needs a user's password: put it into a file, and name the file with --password-file", nil, "--admin", withPassword, file)
	expect(exitFailed, "the password is wrong, the user does not exist, or it is off", nil, "--admin", withPassword, "--password-file", wrong, file)
	expect(exitFailed, "the password is wrong", nil, "--admin", withPassword, "--user", "nobody", "--password-file", "right", file)
	expect(exitFailed, "use a user with +save and ~*", nil, "--admin", withPassword, "--user", "reader", "--password-file", "right", file)
	expect(exitFailed, "use a user with +save and ~*", nil, "--admin", withPassword, "--user", "some", "--password-file", "right", file)
	expect(exitFailed, "the server does not answer", nil, "--admin", testserver.ReserveAddress(t), file)
	expect(exitUsage, "must contain one line with the secret", nil, "--admin", withToken, "--token-file", "empty", file)
	expect(exitUsage, "needs the name of one file to write, got 0 names", nil)
	expect(exitFailed, "b.stint: no such file or directory", nil, "--admin", withToken, filepath.Join(dir, "none", "b.stint"))
	old := func() { os.WriteFile(file, []byte("old"), 0o600) }
	expect(exitOK, "whole; ", nil, "--admin", withPassword, "--user", "keeper", "--password-file", "right", file)
	old()
	expect(exitOK, "whole; ", []string{"REDISCLI_AUTH=long and random"}, "--admin", withPassword, file)
	old()
	expect(exitOK, "whole; ", []string{"STINT_REQUIREPASS=long and random"}, "--admin", withPassword, file)
	old()
	expect(exitFailed, "needs a user's password", []string{"STINT_REQUIREPASS=#" + strings.Repeat("a", 64)}, "--admin", withPassword, file)
	expect(exitOK, "whole; ", []string{"STINT_ADMIN_TOKEN=secret", "STINT_ADMIN=" + withToken}, file)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A backup that ends early, is changed on the way, or comes from another program gets no name.
func TestBackupIsChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.stint")
	address, admin := serveAdmin(t)
	connect(t, address)("TB.ACQUIRE k 10 1/h")
	if code, _, stderr := play(t, "backup", "--admin", admin, file); code != exitOK {
		t.Fatal(stderr)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, output, stderr := play(t, "backup", "--admin", admin, "-")
	if err := os.WriteFile(file, []byte(output), 0o600); code != exitOK || err != nil {
		t.Fatal(code, stderr, err)
	}
	if code, stdout, stderr := play(t, "inspect", file); code != exitOK || !strings.Contains(stdout, "whole; number 0, 256 bytes in 1 block: 1 key,") {
		t.Errorf("from standard output: exit %d: %s%s", code, stdout, stderr)
	}
	p := &process{stdout: fullDisk{}, stderr: io.Discard}
	if code := p.run(t.Context(), []string{"backup", "--admin", admin, "-"}); code != exitFailed {
		t.Errorf("on a full disk: exit %d", code)
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"cut short": func(w http.ResponseWriter) { _, _ = w.Write(whole[:len(whole)-128]) },
		"changed": func(w http.ResponseWriter) {
			_, _ = w.Write(append(bytes.Clone(whole[:140]), make([]byte, len(whole)-140)...))
		},
		"aborted": func(w http.ResponseWriter) {
			_, _ = w.Write(whole)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"a page":    func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) },
		"not found": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		again := filepath.Join(t.TempDir(), "again.stint")
		if code, _, stderr := play(t, "backup", "--admin", strings.TrimPrefix(web.URL, "http://"), again); code != exitFailed || stderr == "" {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
		if left, _ := os.ReadDir(filepath.Dir(again)); len(left) > 0 {
			t.Errorf("%s leaves %v", name, left)
		}
		if code, _, stderr := play(t, "backup", "--admin", strings.TrimPrefix(web.URL, "http://"), "-"); code != exitFailed {
			t.Errorf("%s, to standard output: exit %d, %s", name, code, stderr)
		}
		web.Close()
	}
}
