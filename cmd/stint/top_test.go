package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// Without a terminal, top prints one page about a server that runs.
func TestTopOnce(t *testing.T) {
	address := freeAddress(t)
	serve(t, "--admin", address, "--admin-token", "secret")
	code, stdout, stderr := play(t, "top", "--admin", address, "--token", "secret", "--every", "100ms")
	if code != exitOK || !strings.HasPrefix(stdout, "Stint "+latest+"+dev  ready  up ") || !strings.Contains(stdout, "nothing was denied") {
		t.Errorf("exit %d, %q, %s", code, stdout, stderr)
	}
	if code, _, stderr := play(t, "top", "--admin", address, "--every", "100ms"); code != exitFailed || !strings.Contains(stderr, "401") || !strings.Contains(stderr, "send the token") {
		t.Errorf("without the token: exit %d, %s", code, stderr)
	}
	var out strings.Builder
	p := &process{environ: []string{"STINT_ADMIN_TOKEN=secret"}, readFile: files{}.read, stdout: &out, stderr: &out}
	if code := p.run(t.Context(), []string{"top", "--admin", address, "--every", "100ms"}); code != exitOK {
		t.Errorf("with the token in the environment: exit %d, %s", code, &out)
	}
}

func TestTopMistakes(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"top --admin nowhere", exitUsage, "--admin: must be HOST:PORT"},
		{"top --every 1ms", exitUsage, "--every: must be between"},
		{"top now", exitUsage, "top takes flags only, got 'now'"},
		{"top --evry 1s", exitUsage, "unknown flag"},
		{"top --admin 127.0.0.1:1", exitFailed, "is the server running, with this --admin?"},
		{"top --admin " + strings.TrimPrefix(other.URL, "http://"), exitFailed, "answers 404"},
	} {
		if code, _, stderr := play(t, strings.Fields(tc.args)...); code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%s: exit %d, %s", tc.args, code, stderr)
		}
	}
}

const topAnswer = `{"version":"1","ready":"ready","unixNano":2000000000,"metrics":{
	"stint_decisions_total":[{"labels":{"command":"tb.acquire","outcome":"granted"},"value":700},{"labels":{"command":"cl.throttle","outcome":"granted"},"value":50},{"labels":{"outcome":"denied"},"value":20}],
	"stint_connections":[{"value":3}]},
	"latency":{"bounds":[0.00001,0.002,0.03],"buckets":[90,9,1]},
	"top":{"mode":"plain","total":20,"entries":[{"key":"user:7","count":12,"error":0},{"key":"\u001b[31mred\n","count":8,"error":1}]},
	"cluster":{"nodeId":"a","state":"follower","leader":"b","term":4,"members":[{"id":"a","voter":true,"reachable":true},{"id":"b","voter":true,"leader":true,"reachable":true},{"id":"c","voter":true,"lag":17}]}}`

// A page fits its terminal, and what clients named cannot control it.
func TestTopPage(t *testing.T) {
	var before, now topOverview
	var policies topPolicies
	if err := json.Unmarshal([]byte(topAnswer), &now); err != nil {
		t.Fatal(err)
	}
	before.UnixNano, before.Latency.Buckets = 1000000000, make([]int64, 3)
	if err := json.Unmarshal([]byte(`{"count":1,"policies":[{"name":"api","granted":5,"denied":4,"shadowDenied":3,"limits":[{"spec":"TB u:{} 5 1/s","callers":9,"full":2,"mean":0.5}]}]}`), &policies); err != nil {
		t.Fatal(err)
	}
	page := topPage(&before, &now, &policies, 200, 0)
	for _, part := range []string{
		"granted      750/s   denied       20/s", "median     10 µs   99 %      2.0 ms", "node a is follower in term 4, leader b",
		"  b                leader    reachable ", "UNREACHABLE lag 17", "        12        0  user:7", "         8        1  ?[31mred?",
		"         5          4          3  api", "TB u:{} 5 1/s: 9 callers, 2 with nothing left, on average 50 % taken",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("%q is not in\n%s", part, page)
		}
	}
	for _, size := range [][2]int{{20, 10}, {40, 3}, {1, 2}} {
		lines := strings.Split(strings.TrimSuffix(topPage(&before, &now, &policies, size[0], size[1]), "\n"), "\n")
		if len(lines) >= size[1] {
			t.Errorf("%d lines on a terminal of %d", len(lines), size[1])
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > size[0] {
				t.Errorf("%q is wider than %d", line, size[0])
			}
		}
	}
}
