package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/cmd/stint/policyfile"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/policyset"
)

// policyRun is stint policy for the server at an address of --admin.
func policyRun(t *testing.T, admin string) func(args ...string) (int, string) {
	return func(args ...string) (int, string) {
		t.Helper()
		var out strings.Builder
		p := &process{readFile: readRegularFile, stdout: &out, stderr: &out}
		code := p.run(t.Context(), append([]string{"policy", "--admin", admin}, args...))
		return code, out.String()
	}
}

// written writes a file of a test and returns its path.
func written(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const apiFile = `[policies.api]
limits = ["TB user:{} 5 5/m"]
[policies.api.overrides]
acme = ["TB user:{} 50 50/m"]
`

func TestPolicyCommand(t *testing.T) {
	address, admin := serveAdmin(t)
	send := connect(t, address)
	for _, command := range []string{"RL.POLICY SET api TB user:{} 10 10/m STRICT", "RL.POLICY SET old TB old:{} 1 1/h", "RL.CHECK api bob 7"} {
		send(command)
	}
	dir, run := t.TempDir(), policyRun(t, admin)
	file := written(t, filepath.Join(dir, "api.toml"), apiFile)
	before, yaml := filepath.Join(dir, "before.yaml"), filepath.Join(dir, "now.yml")

	code, got := run("diff", file)
	got = regexp.MustCompile("in the last [0-9]+s").ReplaceAllString(got, "in the last N s")
	if want := `change policy api
  - TB user:{} 10 10/1m
  - strict
  + TB user:{} 5 5/1m
    next requests denied: 0 now, 1 then, of 1 caller
    of 1 request in the last N s, denied: 0, with these limits 1
add override of policy api for acme
  + TB user:{} 50 50/1m
`; code != exitDiffers || got != want {
		t.Errorf("diff: exit %d\n%s", code, got)
	}
	if code, _ := run("apply", "--dry-run", file); code != exitOK {
		t.Errorf("apply --dry-run: exit %d", code)
	}
	if code, got := run("apply", "--prune", "--before", before, file); code != exitOK || !strings.Contains(got, "remove policy old\n") || !strings.HasSuffix(got, "\nMade 3 changes.\n") {
		t.Fatalf("apply: exit %d\n%s", code, got)
	}
	if code, got := run("diff", "--prune", file); code != exitOK || got != "The server has these policies.\n" {
		t.Errorf("diff of what was applied: exit %d\n%s", code, got)
	}
	if code, got := run("export", yaml); code != exitOK || got != "" {
		t.Errorf("export: exit %d\n%s", code, got)
	}
	if code, got := run("diff", "--prune", yaml); code != exitOK {
		t.Errorf("diff of what was exported: exit %d\n%s", code, got)
	}
	code, got = run("apply", "--prune", "--json", before)
	var reply struct{ Changes []any }
	if err := json.Unmarshal([]byte(got), &reply); err != nil || code != exitOK || len(reply.Changes) != 3 {
		t.Errorf("going back: exit %d\n%s", code, got)
	}
	if code, got := run("export"); code != exitOK || !strings.Contains(got, "[policies.old]") || !strings.Contains(got, "strict = true") {
		t.Errorf("after going back: exit %d\n%s", code, got)
	}
	if code, got := run("schema"); code != exitOK || got != policyfile.Schema || !json.Valid([]byte(got)) {
		t.Errorf("schema: exit %d\n%s", code, got)
	}
}

// The usage of all callers comes page by page, as CSV or as lines of JSON.
func TestPolicyUsageCommand(t *testing.T) {
	address, admin := serveAdmin(t)
	send, run := connect(t, address), policyRun(t, admin)
	send("RL.POLICY SET api FW user:{} 10 @day HISTORY 2 TB org:{org}:{} 100 1/h TB all 10000 1/h")
	send("RL.CHECK api =x 3 WITH org acme")
	code, got := run("usage", "api")
	got = regexp.MustCompile("[0-9]{13}").ReplaceAllString(got, "MS")
	rows := strings.Split(strings.TrimSpace(got), "\n")
	slices.Sort(rows[1:])
	if want := []string{"id,with,key,limit,used,reserved,lent,remaining,start_ms,end_ms", "'=x,,user:=x,10,3,0,0,7,MS,MS", "'=x,org=acme,org:acme:=x,100,3,,0,97,,", ",,all,10000,3,,0,9997,,"}; code != exitOK || !slices.Equal(rows, want) {
		t.Errorf("exit %d: %q", code, rows)
	}
	for i := range 2000 {
		send(fmt.Sprint("RL.CHECK api u", i, " 1 WITH org acme"))
	}
	if code, got = run("usage", "--json", "api"); code != exitOK || strings.Count(got, "\n") != 4003 || !strings.Contains(got, `{"id":"u7","with":{"org":"acme"},"key":"org:acme:u7","limit":100,"used":1,"lent":0,"remaining":99}`) {
		t.Errorf("exit %d: %d lines, %.300s", code, strings.Count(got, "\n"), got)
	}
	if code, got = run("usage", "none"); code == exitOK || !strings.Contains(got, "no such policy 'none'") {
		t.Errorf("exit %d: %s", code, got)
	}
	if code, got = run("usage"); code == exitOK || !strings.Contains(got, "needs the name of one policy") {
		t.Errorf("exit %d: %s", code, got)
	}
}

// The file of a server without policies, which goes back to none, has an empty table; a file without the table is a
// mistake.
func TestPolicyFileOfNone(t *testing.T) {
	_, admin := serveAdmin(t)
	dir, run := t.TempDir(), policyRun(t, admin)
	file := written(t, filepath.Join(dir, "api.toml"), apiFile)
	for _, name := range []string{"none.toml", "none.yaml"} {
		none := filepath.Join(dir, name)
		if code, got := run("apply", "--before", none, file); code != exitOK {
			t.Fatalf("%s: exit %d\n%s", name, code, got)
		}
		if code, got := run("apply", "--prune", none); code != exitOK || !strings.HasSuffix(got, "\nMade 2 changes.\n") {
			t.Errorf("going back to %s: exit %d\n%s", name, code, got)
		}
	}
	for _, text := range []string{"", "# policies\n"} {
		if code, got := run("diff", "--prune", written(t, filepath.Join(dir, "empty.toml"), text)); code == exitOK || !strings.Contains(got, "it has no policies") {
			t.Errorf("%q: exit %d, %s", text, code, got)
		}
	}
}

// Mistakes on the command line and in a file are named, with the line of the file.
func TestPolicyMistakes(t *testing.T) {
	_, admin := serveAdmin(t)
	dir, run := t.TempDir(), policyRun(t, admin)
	write := func(name, text string) string { return written(t, filepath.Join(dir, name), text) }
	for want, args := range map[string][]string{
		"needs export, diff, apply, usage or schema, got ''": {},
		"got 'expot'":                                               {"expot"},
		"policy diff: got 0 files":                                  {"diff"},
		"export: takes no --prune":                                  {"export", "--prune"},
		"diff: takes no --before":                                   {"diff", "--before", "x.toml", write("a.toml", apiFile)},
		"must end in .toml":                                         {"export", filepath.Join(dir, "x.txt")},
		"no such file":                                              {"apply", filepath.Join(dir, "none.toml")},
		"line 2: policies.api.limit":                                {"diff", write("b.toml", "[policies.api]\nlimit = []\n")},
		"line 3: limit means nothing in a file of policies":         {"diff", write("c.yaml", "policies:\n  api:\n    limit: []\n")},
		"line 2: policies.api.limits must be a list of limits":      {"diff", write("d.toml", "[policies.api]\nlimits = 1\n")},
		"line 2: policies.api.shadow must be true or false":         {"diff", write("h.toml", "[policies.api]\nshadow = 1\n")},
		"line 2: policies.api.overrides must have a list of limits": {"diff", write("i.toml", "[policies.api]\noverrides = 1\n")},
		"line 3: !!str `TB a:{}...` must be a list of limits":       {"diff", write("j.yaml", "policies:\n  api:\n    limits: TB a:{} 1 1/s\n")},
		"line 2: !!seq must have limits":                            {"diff", write("k.yaml", "policies:\n  api: []\n")},
		"it has no policies":                                        {"diff", write("e.yaml", "")},
		"line 1: policies must have policies by their names":        {"diff", write("l.toml", "policies = 1\n")},
		"line 1: !!seq must have policies by their names":           {"diff", write("m.yaml", "policies: []\n")},
		"more than one document":                                    {"diff", write("f.yaml", "policies: {}\n---\npolicies: {}\n")},
		`policy "api": ERR spec`:                                    {"diff", write("g.toml", "[policies.api]\nlimits = [\"XX a 1 1/s\"]\n")},
		"the server does not answer":                                {"export", "--admin", testserver.ReserveAddress(t)},
	} {
		if code, got := run(args...); code == exitOK || code == exitDiffers || !strings.Contains(got, want) {
			t.Errorf("%v: exit %d, %s", args, code, got)
		}
	}
}

// Whoever interrupts apply, or loses the connection, is told that the changes may have been made.
func TestPolicyApplyWithoutAnAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q policyset.Request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !q.Apply {
			_, _ = io.WriteString(w, `{"version": "1", "changes": [{"policy": "api", "after": {"limits": ["TB user:{} 5 5/m"]}}]}`)
			return
		}
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	var out strings.Builder
	p := &process{readFile: readRegularFile, stdout: io.Discard, stderr: &out}
	file := written(t, filepath.Join(t.TempDir(), "api.toml"), "\ufeff"+apiFile) // which editors of Windows write
	code := p.run(ctx, []string{"policy", "apply", "--admin", server.Listener.Addr().String(), file})
	if want := "stint: interrupted; the changes may have been made: look at them with stint policy diff\n"; code != exitFailed || out.String() != want {
		t.Errorf("exit %d, %s", code, &out)
	}
}

// A server whose policies are in a file has them at its start, and new ones after SIGHUP. A file with a mistake changes
// nothing, and keeps a server from starting.
func TestPoliciesOfAServer(t *testing.T) {
	file := written(t, filepath.Join(t.TempDir(), "policies.toml"), apiFile)
	hangUp := make(chan os.Signal, 1)
	address, _ := serveBy(t, &process{readFile: readRegularFile, signals: hangUp}, "--policies", file)
	send := connect(t, address)
	if got := send("RL.CHECK api acme 50"); strings.HasPrefix(got, "-") {
		t.Errorf("after the start: %s", got)
	}
	written(t, file, strings.Replace(apiFile, "api", "web", 2))
	hangUp <- syscall.SIGHUP
	testwait.Until(t, "the policies of the changed file", func() bool { return strings.Contains(send("RL.POLICY LIST"), "web") })
	if got := send("RL.POLICY LIST"); strings.Contains(got, "api") {
		t.Errorf("a policy that left the file is still there: %q", got)
	}
	written(t, file, "[policies.web]\nlimits = [\"XX\"]\n")
	hangUp <- syscall.SIGHUP
	if got := send("RL.CHECK web acme 1"); strings.HasPrefix(got, "-") {
		t.Errorf("after a mistake in the file: %s", got)
	}
	var said strings.Builder
	p := &process{readFile: readRegularFile, stdout: io.Discard, stderr: &said}
	if c := p.run(t.Context(), []string{"server", "--listen", "127.0.0.1:0", "--admin=", "--policies", file}); c == exitOK || !strings.Contains(said.String(), `policy "web": ERR spec`) {
		t.Errorf("a start with a mistake in the file: exit %d, %s", c, &said)
	}
}
