//go:build e2e

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// A policy whose limits are in several groups is refused by every door, with the remedy, and one that is taken is
// decided for every caller.
func TestPoliciesOfSeveralGroups(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	nodes := testserver.StartNodes(t, program, 3, "--groups", "3", "--cluster-shared", "global:*", "--admin", "127.0.0.1:0", "--http-listen", "127.0.0.1:0")
	for _, node := range nodes {
		awaitGroups(t, node.Address)
	}
	const divided = "ERR spec: the keys 'user:{}' and 'everyone' would be in different groups of the cluster for some callers or fields; begin all keys with one hash tag, as in {{{}}}:a and {{{}}}:b, or name those that all callers share in --cluster-shared"
	const specs = "TB user:{} 10 1/h TB everyone 1000 1000/m"
	for i, step := range []struct{ command, want string }{
		{"RL.POLICY SET p " + specs, "-" + divided},
		{"RL.POLICY SET p " + specs + " SHADOW STRICT", "-" + divided},
		{"RL.POLICY SET one TB user:{} 10 1/h", "+OK"},
		{"RL.POLICY OVERRIDE one y TB user:{} 10 1/h TB everyone 1000 1000/m", "-ERR spec: the keys 'user:{}' and 'everyone' would be in different groups "},
		{"RL.POLICY SET tag TB {{{}}}:a 10 1/h TB {{{}}}:b:{model} 10 1/h", "-ERR spec: ids with : or % would put the keys '{{{}}}:a' and '{{{}}}:b:{model}' in different groups "},
		{"RL.POLICY SET tag TB user:{{{}}} 10 1/h TB minute:{{{}}} 10 1/h TB global:a 1000 1/h", "+OK"},
		{"RL.POLICY SET field TB {{{t}}}:a 10 1/h TB {{{t}}}:b:{model} 10 1/h", "+OK"},
		{"RL.POLICY SET all TB user:{} 10 1/h TB global:all 1000 1/h", "+OK"},
		{"RL.POLICY SET rules TB global:{} 1000 1/h TB global:{}:b 1000 1/h", "-ERR spec: the keys "}, // one caller has the other key of another
		{"RL.ALL TB global:b 5 1/d TB global:c 5 1/d", "[1 -1 "}, {"RL.ALL TB global:c 5 1/d TB global:d 5 1/d TB global:e 5 1/d", "[1 -1 "},
		{"EVAL \"return redis.call('RL.POLICY','SET','p','TB','a:{}','1','1/h','TB','b','1','1/h')\" 0", "-ERR "},
	} {
		if got := ask(t, nodes[i%3].Address, step.command); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, want %s", step.command, got, step.want)
		}
	}
	ask(t, nodes[0].Address, "MULTI\r\nRL.POLICY SET p "+specs+"\r\nEXEC") // not in the list below
	request, err := http.Post("http://"+nodes[1].Listening(t, "HTTP"), "application/json", strings.NewReader(`["RL.POLICY","SET","p","`+strings.ReplaceAll(specs, " ", `","`)+`"]`))
	if err != nil {
		t.Fatal(err)
	}
	defer request.Body.Close()
	if body, err := io.ReadAll(request.Body); err != nil || !strings.Contains(string(body), "would be in different groups") {
		t.Errorf("over HTTP: %s (%v)", body, err)
	}
	if got := ask(t, nodes[2].Address, "RL.POLICY LIST"); got != `["all" "field" "one" "tag"]` {
		t.Errorf("policies %s", got)
	}
	for i := range 30 {
		for _, command := range []string{"RL.CHECK tag id:%d", "RL.CHECK field 1 WITH t tenant%%:%d model m", "RL.CHECK all %d", "RL.CHECK one %d"} {
			command = fmt.Sprintf(command, i)
			if got := ask(t, nodes[i%3].Address, command); !strings.HasPrefix(got, "[1 ") {
				t.Errorf("%s: %s", command, got)
			}
		}
	}
	cursorOf, keyOf := regexp.MustCompile(`^\[\s*"([0-9]+)"`), regexp.MustCompile(`"key" "(user:[0-9]+)"`)
	for _, node := range nodes { // which leads only some of the groups
		testwait.Until(t, "the callers in all groups", func() bool {
			found, cursor := map[string]bool{}, ""
			for cursor != "0" {
				got := ask(t, node.Address, "RL.POLICY CALLERS one "+cmp.Or(cursor, "0"))
				next := cursorOf.FindStringSubmatch(got)
				if next == nil {
					t.Fatal(got)
				}
				cursor = next[1]
				for _, match := range keyOf.FindAllStringSubmatch(got, -1) {
					found[match[1]] = true
				}
			}
			return len(found) == 30
		})
	}
}

// A backup with a policy that groups would divide does not start a cluster with groups, until its key is shared. It
// starts one with one group.
func TestImportOfDividedPolicies(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	alone := testserver.StartServer(t, program, "--dir", t.TempDir(), "--admin", "127.0.0.1:0")
	for _, command := range []string{"RL.POLICY SET p TB user:{} 10 1/h TB everyone 1000 1000/m", "RL.POLICY OVERRIDE p y TB user:{} 100 1/h TB everyone 1000 1000/m"} {
		if got := ask(t, alone.Address, command); got != "+OK" {
			t.Fatal(got)
		}
	}
	file := makeBackup(t, program, alone.Admin(t))
	dir, listen := t.TempDir(), testserver.ReserveAddress(t)
	options := []string{"server", "--listen", "127.0.0.1:0", "--admin", "", "--node-id", "a", "--cluster-listen", listen, "--cluster-peers", listen, "--dir", dir, "--cluster-import", file}
	output, err := testserver.Command(t, program, append(options, "--groups", "3")...).CombinedOutput()
	const want = "the limits of 'user:{}' and 'everyone' of the policy p, the first of "
	if err == nil || !strings.Contains(string(output), want) || !strings.Contains(string(output), "--cluster-shared") {
		t.Errorf("%v: %s", err, output)
	}
	node := testserver.NewProcess(t, program, append(options, "--groups", "3", "--cluster-shared", "everyone")...)
	node.Start(t)
	node.AwaitReady(t)
	node.Stop(t)
	for _, more := range [][]string{{"--groups", "3", "--cluster-shared", "everyone"}, nil} {
		for _, node := range startImporting(t, program, file, 3, more...) {
			for i := range 30 {
				if got := ask(t, node.Address, fmt.Sprint("RL.CHECK p ", i)); !strings.HasPrefix(got, "[1 -1 ") {
					t.Fatal(got)
				}
			}
		}
	}
}

// Two nodes apply files at the same moment. Afterwards the policies are those of one file, never some of each.
func TestPolicyFilesAtTwoNodes(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	for _, groups := range []string{"1", "3"} {
		nodes := testserver.StartNodes(t, program, 3, "--groups", groups, "--admin", "127.0.0.1:0")
		for _, node := range nodes {
			awaitGroups(t, node.Address)
		}
		dir, refused := t.TempDir(), 0
		for round := range 4 {
			var codes [2]int
			var shown [2]string
			var both sync.WaitGroup
			for i := range codes {
				capacity := 10*(round+1) + i
				file := written(t, filepath.Join(dir, fmt.Sprint(capacity, ".toml")), fmt.Sprintf("[policies.p]\nlimits = ['TB user:{} %d 1/m']\n[policies.q]\nlimits = ['TB user:{} %d 1/m']\n", capacity, capacity))
				run := policyRun(t, nodes[i].Admin(t))
				both.Go(func() { codes[i], shown[i] = run("apply", file) })
			}
			both.Wait()
			for i, code := range codes {
				if code == 0 {
					continue
				}
				if refused++; !strings.Contains(shown[i], "somebody else has changed the policies") {
					t.Fatalf("round %d: %d %s", round, code, shown[i])
				}
			}
			p := ask(t, nodes[2].Address, "RL.POLICY GET p")
			if q := ask(t, nodes[2].Address, "RL.POLICY GET q"); p != q || !strings.Contains(p, fmt.Sprint("user:{} ", round+1)) {
				t.Errorf("round %d: %s and %s after %q", round, p, q, shown)
			}
		}
		t.Logf("%s groups: %d of 8 were refused", groups, refused)
	}
}
