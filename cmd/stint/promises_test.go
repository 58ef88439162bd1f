//go:build e2e

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/transcripttest"
)

// The promises of docs/durability.md, docs/cluster.md and docs/regions.md, held by every kind of server: a promise that
// holds in one configuration only is none. Each kind is real processes, on which the promises are tried one after the
// other.

// kind is a kind of server.
type kind struct {
	name      string
	nodes     int // 0 for a server alone
	options   []string
	hasRegion bool // its limits of home:* are lent by another server
}

var kinds = []kind{
	{name: "alone", options: []string{"--durability", "always"}},
	{name: "one group", nodes: 3},
	{name: "several groups", nodes: 3, options: []string{"--groups", "4"}},
	{name: "replicas on some nodes", nodes: 5, options: []string{"--groups", "4", "--cluster-replicas", "3"}},
	{name: "region", nodes: 3, hasRegion: true},
}

// promise is one promise, and how it is tried. Where a kind does not give it, it refuses, and refused has the words.
type promise struct {
	text    string // with the page that makes it
	holds   func(d *deployment)
	refused map[string]refusedStart
}

// refusedStart is a start that is refused.
type refusedStart struct {
	options []string
	words   string
}

var promises = []promise{
	{text: "every node answers with all that was acknowledged at any (cluster.md)", holds: (*deployment).mustHoldState},
	{text: "a node that answers is ready, and says so (operations.md)", holds: (*deployment).mustBeReady},
	{text: "SIGTERM loses nothing, of one node after the other (durability.md, operations.md)", holds: func(d *deployment) {
		for _, node := range d.nodes {
			d.restart(syscall.SIGTERM, node)
			d.mustHoldState()
		}
	}},
	{text: "SIGTERM of all loses nothing (durability.md)", holds: func(d *deployment) {
		d.restart(syscall.SIGTERM, d.nodes...)
		d.mustHoldState()
	}},
	{text: "a crash of all loses nothing acknowledged (durability.md, cluster.md)", holds: func(d *deployment) {
		d.restart(syscall.SIGKILL, d.nodes...)
		d.mustHoldState()
	}},
	{text: "a directory is that of one server (durability.md)", holds: func(d *deployment) {
		node := d.nodes[0]
		second := d.withEnv(testserver.NewServer(d.t, d.program, "--admin", ""), "STINT_DIR="+filepath.Join(node.Dir, "state"))
		second.Start(d.t)
		second.Await(d.t, "refused to start", func() bool { is, _ := second.Running(); return !is })
		if _, state := second.Running(); state.Success() || !strings.Contains(second.Output(), filepath.Join(node.Dir, "state")) {
			d.t.Errorf("%v: %s", state, second.Output())
		}
	}},
	{text: "a backup of any node is whole, and starts any kind with that state, before which nothing is granted (durability.md, cluster.md)", holds: func(d *deployment) {
		for _, other := range kinds {
			if other.name == d.name || other.name == "alone" || other.name == "one group" && d.name == "alone" {
				d.begin(other, d.backup(d.nodes[len(d.nodes)-1]))
			}
		}
	}},
	{
		text: "nothing is granted without the state of --cluster-import; if its node dies, another brings it (cluster.md)", holds: (*deployment).mustAwaitImport,
		refused: map[string]refusedStart{"alone": {[]string{"--cluster-import", "copy.stint"}, "--cluster-import is a setting of a cluster's node"}},
	},
	{
		text: "--durability always (durability.md)", holds: func(d *deployment) {
			if d.kind.nodes == 0 && ask(d.t, d.nodes[0].Address, "CONFIG GET durability") != `["durability" "always"]` {
				d.t.Error(ask(d.t, d.nodes[0].Address, "CONFIG GET durability"))
			}
		},
		refused: map[string]refusedStart{
			"one group": durabilityOfNode, "several groups": durabilityOfNode, "replicas on some nodes": durabilityOfNode, "region": durabilityOfNode,
		},
	},
	{text: "memory is bounded, and what is there stays when it is full (configuration.md)", holds: (*deployment).mustBoundMemory},
}

var durabilityOfNode = refusedStart{
	[]string{"--node-id", "a", "--cluster-listen", "127.0.0.1:7999", "--cluster-peers", "127.0.0.1:7999", "--dir", "state", "--durability", "always"},
	"durability (always) has no meaning in a cluster",
}

func TestPromisesOfEveryKind(t *testing.T) {
	program := testserver.Build(t, filepath.Join("..", ".."))
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			d := newDeployment(t, k, program)
			d.start("")
			d.fill()
			for _, p := range promises {
				t.Run(p.text, func(t *testing.T) {
					if r, isRefused := p.refused[k.name]; isRefused {
						wantRefusal(t, r.words, program, r.options...)
						return
					}
					d.t = t
					p.holds(d)
				})
			}
			d.t = t
		})
	}
}

// deployment is servers of one kind.
type deployment struct {
	kind
	t       *testing.T
	program string
	nodes   []*testserver.Process
	home    string // of a region
	script  string // its digest
}

func newDeployment(t *testing.T, k kind, program string) *deployment {
	d := &deployment{kind: k, t: t, program: program}
	options := append([]string{"--admin", "127.0.0.1:0", "--max-memory", "64mb", "--when-full", "deny-new"}, k.options...)
	if k.hasRegion {
		d.home = testserver.Start(t, program, "--admin", "")
		options = append(options, "--upstream", d.home, "--upstream-keys", "home:*")
	}
	if k.nodes == 0 {
		d.nodes = []*testserver.Process{testserver.NewServer(t, program, append(options, "--dir", "state")...)}
	} else {
		d.nodes = testserver.NewNodes(t, program, k.nodes, options...)
	}
	return d
}

// withEnv gives a server settings by its environment, or none.
func (d *deployment) withEnv(p *testserver.Process, settings ...string) *testserver.Process {
	p.Env = nil
	if len(settings) > 0 {
		p.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, settings...)
	}
	return p
}

// start starts all nodes, the first with an import unless that is "", and waits until they serve.
func (d *deployment) start(imported string) {
	d.t.Helper()
	if imported != "" {
		d.withEnv(d.nodes[0], "STINT_CLUSTER_IMPORT="+imported)
	}
	for _, node := range d.nodes {
		node.Start(d.t)
	}
	d.awaitAll()
}

// awaitAll waits until all nodes serve.
func (d *deployment) awaitAll() {
	d.t.Helper()
	for _, node := range d.nodes {
		node.AwaitReady(d.t)
	}
	for _, node := range d.nodes {
		if d.kind.nodes > 0 {
			node.AwaitFormed(d.t)
		}
	}
}

// end ends nodes.
func (d *deployment) end(how syscall.Signal, nodes ...*testserver.Process) {
	d.t.Helper()
	var ending sync.WaitGroup
	for _, node := range nodes {
		ending.Go(func() {
			if err := node.End(how); err != nil {
				d.t.Error(err)
			}
		})
	}
	ending.Wait()
}

func (d *deployment) restart(how syscall.Signal, nodes ...*testserver.Process) {
	d.t.Helper()
	d.end(how, nodes...)
	for _, node := range nodes {
		node.Start(d.t)
	}
	d.awaitAll()
}

const usedUp = 20 // keys of fill

// fill has a state acknowledged, each part at another node.
func (d *deployment) fill() {
	d.t.Helper()
	steps := [][2]string{
		{"RL.POLICY SET p TB u:{} 5 1/365d", "+OK"}, {"RL.POLICY OVERRIDE p gold TB u:{} 50 1/365d", "+OK"}, {"RL.CHECK p x 2", "[2 -1 0 "}, {"RL.CHECK p gold 2", "[2 -1 0 "},
		{"SET text old EX 100000", "+OK"}, {"TB.ACQUIRE {a}limit 9 1/365d 4 AS {a}id FOR 1h", "[4 9 5 "},
		{"FW.ACQUIRE window 3 365d 3", "[3 3 0 "}, {"CC.ACQUIRE slots 1 365d lease", "["},
	}
	for k := range usedUp {
		steps = append(steps, [2]string{usedKey(k), "[1 "})
	}
	for i, step := range steps {
		node := d.nodes[i%len(d.nodes)].Address
		var got string
		testwait.Until(d.t, step[0], func() bool { got = ask(d.t, node, step[0]); return !strings.HasPrefix(got, "-CLUSTERDOWN") })
		if !strings.HasPrefix(got, step[1]) {
			d.t.Fatalf("%s: %s, want %s…", step[0], got, step[1])
		}
	}
	d.script = strings.Trim(ask(d.t, d.nodes[0].Address, `SCRIPT LOAD "return redis.call('get',KEYS[1])"`), `"`)
	if d.hasRegion {
		if got := ask(d.t, d.nodes[0].Address, "TB.ACQUIRE home:x 1 1/365d"); !strings.HasPrefix(got, "[1 ") {
			d.t.Fatal(got)
		}
	}
}

// usedKey takes the only token of a limit.
func usedKey(k int) string { return fmt.Sprintf("TB.ACQUIRE used:%d 1 1/365d", k) }

// mustHoldState checks the state of fill at every node.
func (d *deployment) mustHoldState() {
	d.t.Helper()
	checks := map[string]string{
		"RL.CHECK p x 1 PEEK": "[1 -1 0 [[5 2 ", "RL.CHECK p gold 1 PEEK": "[1 -1 0 [[50 47 ", "GET text": `"old"`,
		"TB.ACQUIRE {a}limit 9 1/365d 1 PEEK": "[1 9 4 ", "FW.ACQUIRE window 3 365d": "[0 3 0 ", "RL.POLICY LIST": `["p"]`, "EVALSHA " + d.script + " 1 text": `"old"`,
		"CC.ACQUIRE slots 1 365d other": "[0 1 0 ", "RL.SETTLE {b}id 1": "nil",
	}
	for k := range usedUp {
		checks[usedKey(k)] = "[0 1 0 "
	}
	if d.hasRegion {
		checks["TB.ACQUIRE home:x 1 1/365d"] = "[0 1 0 "
	}
	for _, node := range d.nodes {
		for command, want := range checks {
			var got string
			testwait.Until(d.t, command, func() bool { got = ask(d.t, node.Address, command); return !strings.HasPrefix(got, "-CLUSTERDOWN") })
			if !strings.HasPrefix(got, want) {
				d.t.Errorf("%s answers %s with %s, want %s…", node.Address, command, got, want)
			}
		}
	}
}

// mustBeReady checks /readyz of every node.
func (d *deployment) mustBeReady() {
	d.t.Helper()
	for _, node := range d.nodes {
		testwait.Until(d.t, "it is ready", func() bool { return readiness(d.t, node) == http.StatusOK })
	}
}

func readiness(t *testing.T, node *testserver.Process) (status int) {
	t.Helper()
	answer, err := http.Get("http://" + node.Admin(t) + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func (d *deployment) backup(node *testserver.Process) (file string) {
	d.t.Helper()
	file = makeBackup(d.t, d.program, node.Admin(d.t))
	if output, err := testserver.Command(d.t, d.program, "inspect", file).CombinedOutput(); err != nil {
		d.t.Errorf("%v: %s", err, output)
	}
	return file
}

// begin begins servers of a kind with a backup. Every node is asked from its first moment on, and must grant nothing
// that is used up.
func (d *deployment) begin(k kind, file string) {
	d.t.Helper()
	other := newDeployment(d.t, k, d.program)
	other.script = d.script
	asking := other.askEarly()
	if k.nodes == 0 {
		if output, err := testserver.Command(d.t, d.program, "restore", file, filepath.Join(other.nodes[0].Dir, "state")).CombinedOutput(); err != nil {
			d.t.Fatalf("%v: %s", err, output)
		}
		file = ""
	}
	other.start(file)
	if early := asking.end(); early > 0 {
		d.t.Errorf("%s: %d requests for used-up limits were granted before the state was there, or after", k.name, early)
	}
	other.hasRegion = false // the tokens that home has lent are not in the copy
	other.mustHoldState()
	other.end(syscall.SIGTERM, other.nodes...)
}

// looksAtKeys are commands that a node answers from what it has itself.
var looksAtKeys = []string{"SCAN 0", "DBSIZE", "KEYS *", "RANDOMKEY", "RL.TOP", "RL.POLICY GET p", "RL.USAGE used:1"}

// mustAwaitImport has the node die that brings the state, before it has done so, and another one bring it.
func (d *deployment) mustAwaitImport() {
	file := d.backup(d.nodes[0])
	other := newDeployment(d.t, d.kind, d.program)
	other.script = d.script
	asking := other.askEarly()
	first, second := d.withEnv(other.nodes[0], "STINT_CLUSTER_IMPORT="+file), other.nodes[1]
	first.Start(d.t)
	first.AwaitReady(d.t)
	if err := os.Mkdir(filepath.Join(first.Dir, "state", "import-0.tmp"), 0o700); err != nil { // in place of a file that the import writes before it begins
		d.t.Fatal(err)
	}
	for _, node := range other.nodes[1:] {
		node.Start(d.t)
	}
	for _, node := range other.nodes {
		eventuallyHas(d.t, node.Address, usedKey(0), "-LOADING ")
	}
	other.end(syscall.SIGKILL, first)
	for _, node := range other.nodes[1:] {
		eventuallyHas(d.t, node.Address, usedKey(1), "-LOADING ") // once the others have a leader
		node.Await(d.t, "its log says what to do", func() bool {
			return strings.Contains(node.Output(), "start a node with --cluster-import and that state")
		})
		if status := readiness(d.t, node); status != http.StatusServiceUnavailable || node.Says("CLUSTER INFO", "cluster_state:ok") {
			d.t.Errorf("a node without the state is ready: %d", status)
		}
		for _, command := range append(looksAtKeys, "RL.CHECK p x 1", "RL.POLICY LIST", "SET text new", "GET text", "RL.ALL TB used:1 1 1/365d", "FW.ACQUIRE window 3 365d") {
			if got := ask(d.t, node.Address, command); !strings.HasPrefix(got, "-LOADING ") {
				d.t.Errorf("%s before the state is there: %s", command, got)
			}
		}
		local := connect(d.t, node.Address)
		local("READONLY")
		if got := local("GET text"); !strings.HasPrefix(got, "-LOADING ") {
			d.t.Errorf("READONLY: %s", got)
		}
	}
	if err := os.RemoveAll(filepath.Join(first.Dir, "state")); err != nil { // it comes back without its disk, and without the file
		d.t.Fatal(err)
	}
	d.withEnv(first)
	other.end(syscall.SIGTERM, second)
	d.withEnv(second, "STINT_CLUSTER_IMPORT="+file).Start(d.t)
	first.Start(d.t)
	other.awaitAll()
	if early := asking.end(); early > 0 {
		d.t.Errorf("%d requests for used-up limits were granted", early)
	}
	other.hasRegion = false
	other.mustHoldState()
	other.end(syscall.SIGTERM, other.nodes...)
}

// eventuallyHas repeats a command until its reply begins as it should. A node that is starting refuses connections.
func eventuallyHas(t *testing.T, address, command, want string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%s answers %s with %s", address, command, want), func() bool {
		return strings.HasPrefix(tryAsk(address, command), want)
	})
}

// earlyAsker asks every node for limits that are used up, from before it is started on.
type earlyAsker struct {
	stopped atomic.Bool
	asking  sync.WaitGroup
	granted atomic.Int64
}

func (d *deployment) askEarly() *earlyAsker {
	a := &earlyAsker{}
	for _, node := range d.nodes {
		a.asking.Go(func() {
			for i := 0; !a.stopped.Load(); i++ {
				if strings.HasPrefix(tryAsk(node.Address, usedKey(i%usedUp)), "[1 ") {
					a.granted.Add(1)
				}
			}
		})
	}
	d.t.Cleanup(func() { a.end() })
	return a
}

// end returns how many requests were granted.
func (a *earlyAsker) end() int64 {
	a.stopped.Store(true)
	a.asking.Wait()
	return a.granted.Load()
}

// mustBoundMemory fills the memory, and checks that the rest of the state stays.
func (d *deployment) mustBoundMemory() {
	full := false
	for i := 0; i < 600 && !full; i++ {
		got := ask(d.t, d.nodes[i%len(d.nodes)].Address, fmt.Sprintf("SETRANGE {%d}big 524287 x", i))
		switch {
		case strings.HasPrefix(got, "-OOM "):
			full = true
		case got != "524288":
			d.t.Fatalf("%.100s", got)
		}
	}
	if !full {
		d.t.Error("300 MiB of keys fit into 64 MB")
	}
	if d.hasRegion { // there is no room for tokens of home either
		if got := ask(d.t, d.nodes[0].Address, "TB.ACQUIRE home:x 1 1/365d"); !strings.HasPrefix(got, "-OOM ") {
			d.t.Errorf("a limit of home where the memory is full: %s", got)
		}
		d.hasRegion = false
	}
	d.mustHoldState()
}

// tryAsk sends one command, and returns "" if the node does not answer.
func tryAsk(address, command string) (reply string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(testwait.Deadline())
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return ""
	}
	reply, _ = transcripttest.ReadReply(bufio.NewReader(conn))
	return reply
}
