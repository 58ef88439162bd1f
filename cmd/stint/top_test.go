package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

func TestTop(t *testing.T) {
	long := strings.Repeat("k", 200)
	address, admin := serveAdmin(t, "--admin-token", "the-token-of-this-test")
	send := connect(t, address)
	for _, command := range []string{"RL.POLICY SET api TB user:{} 1 1/1h", "RL.CHECK api 7", "RL.CHECK api 7", "RL.CHECK api 7",
		"TB.ACQUIRE " + long + " 1 1/1h", "TB.ACQUIRE " + long + " 1 1/1h", `TB.ACQUIRE "\x1b[2J" 1 1/1h`, `TB.ACQUIRE "\x1b[2J" 1 1/1h`,
		"RL.LEND hot TB 1000 1/h 100 worker 1 0"} {
		if reply := send(command); strings.HasPrefix(reply, "-") {
			t.Fatalf("%s: %s", command, reply)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("the-token-of-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := func(args ...string) (int, string) {
		var out strings.Builder
		p := &process{readFile: readRegularFile, stdout: &out, stderr: &out}
		code := p.run(t.Context(), append([]string{"top", "--admin", admin}, args...))
		return code, out.String()
	}
	code, got := p("--token-file", token)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, got)
	}
	lines := strings.Join(strings.Fields(got), " ")
	for _, want := range []string{": ready", " 2 ", "user:7 api: TB user:{} 1 1/1h", long + " TB * 1 1/1h", `"\x1b[2J" TB * 1 1/1h`, "100 hot worker 100"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it does not contain %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("a key reaches the terminal as it is: %q", got)
	}
	for want, args := range map[string][]string{
		"name the file with --token-file": nil,
		"no-such-file":                    {"--token-file", "no-such-file"},
		"the server does not answer":      {"--admin", testserver.ReserveAddress(t)},
		"'x'":                             {"x"},
	} {
		if code, got := p(args...); code == exitOK || !strings.Contains(got, want) {
			t.Errorf("%v: exit %d, %s", args, code, got)
		}
	}
}

// A server whose clients need a password shows its traffic only to who has its token, so top says how to give it one.
func TestTopWithoutToken(t *testing.T) {
	_, admin := serveAdmin(t, "--requirepass", "the-password-of-this-test")
	var out strings.Builder
	p := &process{readFile: readRegularFile, stdout: &out, stderr: &out}
	code := p.run(t.Context(), []string{"top", "--admin", admin})
	want := "the dashboard and stint top need a token: start the server with --admin-token"
	if code == exitOK || !strings.Contains(out.String(), want) {
		t.Errorf("exit %d, %s, want %s", code, out.String(), want)
	}
}
