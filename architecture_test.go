// Package stint_test holds the tests of the house as a whole.
package stint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/stintdb/stint"

// mayImport says, for each part of the house, which other parts it may import: the table of the design. A part is a
// directory with everything below it, and may always import itself. Parts that do not exist yet are here already.
var mayImport = map[string][]string{
	"engine":      {},
	"persistence": {"engine", "internal/atomicfile", "internal/persistencestatus"},
	"cluster":     {"engine", "persistence", "internal/unauthenticated", "internal/atomicfile", "internal/clockpair", "internal/closenotify", "internal/clusterstatus", "internal/keypair", "internal/loans"},
	"server":      {"engine", "internal/unauthenticated", "internal/atomicfile", "internal/clockpair", "internal/closenotify", "internal/clusterstatus", "internal/keypair", "internal/loans", "internal/persistencestatus", "internal/spelling", "internal/bytetext"},
	"cmd":         {"engine", "persistence", "cluster", "server", "internal/atomicfile", "internal/clusterstatus", "internal/keypair", "internal/persistencestatus", "internal/signals", "internal/spelling", "internal/timerslack", "internal/bytetext"},
	"docs":        {"engine", "persistence", "cluster", "server", "cmd"}, // tests that hold the handbook true
	"bench":       {"internal/testprocess", "internal/testaddress", "engine/slot"},
	"clients":     {},
	"docker":      {},
	"packaging":   {"server"}, // tests, which read settings as the server does
	"internal":    {},         // what several parts are made with, and several tests
}

// within are narrower rules for packages inside a part.
var within = map[string][]string{
	"engine":                     {"engine/calendar", "engine/limits", "engine/internal/uint128"},
	"engine/layout":              {"engine", "engine/internal/uint128"},
	"engine/balance":             {"engine"},
	"engine/penalty":             {"engine"},
	"engine/blocks":              {},
	"engine/largevalues":         {"engine", "engine/algorithm", "engine/blocks", "engine/large"},
	"engine/large":               {"engine", "engine/blocks", "engine/datatype"},
	"engine/algorithm":           {"engine", "engine/balance", "engine/datatype", "engine/glob", "engine/internal/uint128", "engine/layout", "engine/penalty", "engine/purse", "engine/reservation", "engine/large"},
	"engine/admission":           {"engine", "engine/algorithm", "engine/layout"},
	"engine/keyspace":            {"engine", "engine/admission", "engine/algorithm", "engine/internal/ahead", "engine/internal/arena", "engine/internal/limitset", "engine/internal/offheap", "engine/layout", "engine/purse", "engine/reservation", "engine/blocks", "engine/internal/tagindex", "engine/large", "engine/largevalues", "engine/spread"},
	"engine/spread":              {"engine", "engine/algorithm"},
	"engine/store":               {"engine", "engine/admission", "engine/algorithm", "engine/datatype", "engine/glob", "engine/internal/uint128", "engine/keyspace", "engine/layout", "engine/policy", "engine/purse", "engine/reservation", "engine/scriptcache", "engine/large", "engine/largevalues"},
	"engine/limits":              {"engine/calendar", "engine/internal/uint128"},
	"engine/calendar":            {},
	"engine/glob":                {},
	"engine/grouping":            {"engine", "engine/glob", "engine/slot"},
	"engine/slot":                {},
	"engine/script":              {"engine/digits", "engine/script/ctext", "engine/script/interpreter", "engine/script/library", "engine/script/syntax", "engine/script/value"},
	"engine/opcodec":             {"engine"},
	"engine/purse":               {"engine"},
	"cluster/bloom":              {"engine"},
	"cluster/call":               {"engine", "engine/opcodec", "cluster/clock"},
	"cluster/forward":            {"engine", "engine/opcodec", "cluster/call", "cluster/clock", "cluster/notifier", "cluster/transport"},
	"cluster/notifier":           {},
	"cluster/mux":                {},
	"cluster/oncelog":            {},
	"cluster/clock":              {"internal/clockpair"},
	"cluster/fsm":                {"engine", "engine/opcodec", "persistence", "persistence/disk", "cluster/call", "cluster/clock", "cluster/notifier", "cluster/placement", "cluster/raftstore"},
	"cluster/placement":          {},
	"cluster/propose":            {"engine", "engine/opcodec", "internal/clusterstatus", "cluster/call", "cluster/clock", "cluster/fsm"},
	"cluster/allowance":          {"engine", "engine/opcodec", "cluster/call", "cluster/propose"},
	"cluster/purses":             {"engine", "engine/purse", "cluster/call"},
	"cluster/asynclog":           {"cluster/clock", "cluster/notifier"},
	"cluster/raftnode":           {"cluster/asynclog", "cluster/clock", "cluster/fsm", "cluster/notifier", "cluster/oncelog", "cluster/raftstore", "cluster/rafttransport", "cluster/transport", "internal/timerslack"},
	"cluster/group":              {"engine", "engine/opcodec", "persistence", "internal/clusterstatus", "cluster/allowance", "cluster/call", "cluster/clock", "cluster/forward", "cluster/fsm", "cluster/group/decide", "cluster/group/loans", "cluster/notifier", "cluster/oncelog", "cluster/placement", "cluster/propose", "cluster/purses", "cluster/raftnode", "cluster/raftstore", "cluster/transport"},
	"cluster/group/decide":       {"engine", "engine/scriptcache", "cluster/allowance", "cluster/bloom", "cluster/call", "cluster/clock", "cluster/fsm", "cluster/group/loans", "cluster/purses"},
	"cluster/group/loans":        {"engine", "cluster/clock", "cluster/fsm", "cluster/oncelog", "cluster/purses"},
	"cluster/remote":             {"engine", "cluster/call", "cluster/clock", "cluster/forward", "cluster/group", "cluster/notifier", "cluster/transport"},
	"cluster/transport":          {"cluster/clock", "cluster/mux", "cluster/notifier", "internal/closenotify", "internal/keypair", "internal/unauthenticated"},
	"cluster/router":             {"engine", "engine/glob", "engine/slot"},
	"cluster/shared":             {"engine", "engine/purse", "internal/clusterstatus", "internal/loans"},
	"cluster":                    {"engine", "engine/slot", "internal/clusterstatus", "cluster/clock", "cluster/fsm", "cluster/group", "cluster/importing", "cluster/keygroups", "cluster/oncelog", "cluster/peers", "cluster/placement", "cluster/raftnode", "cluster/router", "cluster/shared", "cluster/transport"},
	"cluster/rafttransport":      {"cluster/mux", "cluster/transport"},
	"cluster/raftstore":          {"persistence", "persistence/disk", "persistence/entrylog", "internal/atomicfile", "cluster/boltfile"},
	"cluster/importing":          {"engine", "persistence"},
	"cluster/boltfile":           {},
	"server/resp":                {"engine/digits"},
	"server/ratefields":          {},
	"server/clock":               {"internal/clockpair"},
	"server/waitqueue":           {"engine", "server/clock"},
	"server/topkeys":             {},
	"server/fanout":              {},
	"server/pubsub":              {"server/fanout"},
	"server/recent":              {},
	"server/denials":             {},
	"server/events":              {"internal/bytetext", "internal/clusterstatus"},
	"server/keyevents":           {},
	"server/blocking":            {"engine"},
	"server/tracking":            {"engine/database", "server/fanout"},
	"server/trial":               {"engine", "server/command"},
	"server/sysmem":              {},
	"server/usage":               {"internal/bytetext"},
	"server/warn":                {"engine", "internal/bytetext"},
	"server/loginlimit":          {"engine", "internal/unauthenticated", "server/clock", "server/waitqueue"},
	"server/transcripttest":      {},
	"server/decider":             {"engine", "server/clock"},
	"server/fairqueue":           {"engine"},
	"server/info":                {"engine", "internal/clusterstatus", "internal/persistencestatus", "server/command", "server/conn", "server/localstore", "server/memlimit", "server/metrics", "server/netio", "server/upstream"},
	"server/conn":                {"engine", "internal/clusterstatus", "internal/unauthenticated", "server/acl", "server/blocking", "server/clock", "server/command", "server/config", "server/decider", "server/denials", "server/events", "server/fairqueue", "server/fanout", "server/keyevents", "server/latency", "server/loginlimit", "server/conn/access", "server/conn/clientcache", "server/conn/keywait", "server/conn/registry", "server/conn/share", "server/conn/wait", "server/localstore", "server/memlimit", "server/metrics", "server/monitor", "server/pubsub", "server/recent", "server/resp", "server/slowlog", "server/stats", "server/topkeys", "server/tracking", "server/waitqueue"},
	"server/gateway":             {"engine/limits", "server/acl", "server/command", "server/config", "server/conn", "server/loginlimit", "server/metrics", "server/netio", "server/stats"},
	"server/httpapi":             {"engine", "server/acl", "server/command", "server/gateway", "server/metrics", "server/ratefields", "server/resp", "server/usage"},
	"server/rls":                 {"engine", "server/command", "server/resp"},
	"server/xds":                 {"internal/atomicfile", "internal/keypair", "server/rls"},
	"server/envoy":               {"engine", "server/acl", "server/command", "server/config", "server/gateway", "server/metrics", "server/ratefields", "server/resp", "server/rls", "server/rlqs", "server/xds"},
	"server/health":              {"server/gateway", "server/netio"},
	"server/rlqs":                {"engine", "engine/purse"},
	"server/netio":               {"internal/closenotify", "internal/keypair", "server/clock", "server/config", "server/conn", "server/conn/share", "server/conn/wait", "server/stats"},
	"server/slowlog":             {"server/command", "server/config", "server/resp"},
	"server/latency":             {"server/clock", "server/command", "server/config"},
	"server/memlimit":            {"engine", "server/clock", "server/command", "server/config", "server/localstore", "server/sysmem"},
	"server/stats":               {"server/command", "server/metrics"},
	"server/config":              {"engine", "engine/glob", "internal/spelling", "server/ratefields"},
	"server/upstream":            {"engine", "engine/glob", "engine/purse", "engine/slot", "internal/atomicfile", "internal/closenotify", "internal/loans", "server/clock", "server/command", "server/decider"},
	"server/command":             {"engine", "engine/digits", "engine/glob", "engine/slot", "server/localstore", "server/resp", "server/tracking", "internal/clusterstatus", "internal/spelling", "engine/large"},
	"server/command/all":         {"server/command"},
	"server/command/data":        {"engine", "engine/datatype", "engine/digits", "engine/script", "engine/script/ctext", "engine/scriptcache", "server/command", "server/monitor", "server/resp", "engine/large", "engine/blocks"},
	"server/command/limiter":     {"engine", "engine/grouping", "server/command", "server/localstore", "server/resp"},
	"server/command/ops":         {"engine", "engine/glob", "engine/slot", "server/command", "server/command/data", "server/pubsub", "server/resp", "server/tracking", "internal/clusterstatus"},
	"engine/reservation":         {"engine", "engine/glob", "engine/layout"},
	"engine/script/ctext":        {"engine/digits"},
	"engine/script/elementary":   {},
	"engine/digits":              {},
	"engine/script/interpreter":  {"engine/script/ctext", "engine/script/elementary", "engine/script/syntax", "engine/script/value"},
	"engine/script/library":      {"engine/digits", "engine/script/ctext", "engine/script/elementary", "engine/script/interpreter", "engine/script/value"},
	"engine/script/syntax":       {"engine/script/ctext", "engine/script/value"},
	"engine/script/value":        {"engine/script/ctext"},
	"internal/loans":             {"engine", "engine/purse"},
	"engine/policy":              {"engine"},
	"engine/request":             {"engine", "engine/algorithm", "engine/internal/ahead", "engine/internal/uint128", "engine/layout", "engine/penalty", "engine/purse", "engine/reservation", "engine/spread"},
	"engine/transaction":         {"engine", "engine/algorithm", "engine/internal/ahead", "engine/layout", "engine/scriptcache", "engine/large", "engine/largevalues"},
	"persistence":                {"engine", "internal/persistencestatus", "persistence/disk"},
	"persistence/disk":           {"internal/atomicfile"},
	"persistence/entrylog":       {"persistence/disk"},
	"internal/testspec":          {"engine", "engine/limits", "engine/purse", "internal/testgenerated"},
	"internal/testdisk":          {"persistence/disk", "internal/testsize"},
	"cmd/playground":             {"cmd/playground/traffic"},
	"cmd/playground/traffic":     {"engine", "server/command", "server/command/limiter"},
	"cmd/stint/cli":              {"internal/spelling"},
	"cmd/stint/adminclient":      {"cmd/stint/cli", "server/config"},
	"cmd/stint/policyfile":       {"cmd/stint/adminclient", "cmd/stint/cli", "cmd/stint/inspect", "cmd/stint/settings", "internal/atomicfile", "server/policyset", "server/usage"},
	"server/policyset":           {"engine", "server", "server/command", "server/command/limiter", "server/resp"},
	"server/admin/callers":       {"engine", "server", "server/usage"},
	"cmd/stint/homepolicies":     {"engine/glob", "server", "server/policyset", "server/resp", "server/upstream"},
	"cmd/stint/progress":         {"persistence/disk"},
	"cmd/stint/logqueue":         {},
	"cmd/stint/screen":           {"internal/bytetext"},
	"cmd/stint/settings":         {"cmd/stint/cli", "server/config"},
	"cmd/stint/inspect":          {"cmd/stint/cli", "cmd/stint/progress", "engine", "engine/datatype", "engine/scriptcache", "persistence", "persistence/disk", "persistence/entrylog", "cluster", "cluster/fsm", "cluster/keygroups", "cluster/raftstore", "internal/bytetext"},
	"cluster/keygroups":          {"engine", "engine/slot", "internal/clusterstatus", "cluster/clock", "cluster/fsm", "cluster/group", "cluster/oncelog", "cluster/peers", "cluster/placement", "cluster/propose", "cluster/raftnode", "cluster/raftstore", "cluster/rafttransport", "cluster/remote", "cluster/router", "cluster/shared", "cluster/transport"},
	"cluster/peers":              {"internal/clusterstatus", "cluster/fsm", "cluster/group", "cluster/oncelog", "cluster/placement", "cluster/raftnode", "cluster/transport"},
	"server/command/data/gcra":   {"engine", "engine/datatype", "server/command", "server/command/data"},
	"server/command/data/hash":   {"engine", "engine/datatype", "server/command", "server/command/data", "server/resp", "engine/large"},
	"server/command/data/key":    {"engine", "engine/datatype", "server/command", "server/command/data", "server/resp"},
	"server/command/data/list":   {"engine", "engine/datatype", "server/command", "server/command/data", "engine/large", "engine/blocks"},
	"server/command/data/set":    {"engine", "engine/datatype", "server/command", "server/command/data", "server/resp", "engine/large"},
	"server/command/data/str":    {"engine", "engine/digits", "server/command", "server/command/data", "server/resp"},
	"server/command/data/zset":   {"engine", "engine/datatype", "server/command", "server/command/data", "server/resp", "engine/large"},
	"server/admin/traffic":       {"internal/clusterstatus"},
	"server/conn/clientcache":    {"engine", "server/acl", "server/command", "server/fanout", "server/resp", "server/tracking"},
	"server/conn/keywait":        {"engine", "server/blocking", "server/clock", "server/command", "server/localstore", "server/waitqueue"},
	"server/conn/registry":       {"internal/unauthenticated", "server/acl", "server/blocking", "server/clock", "server/command", "server/config", "server/conn/clientcache", "server/conn/wait", "server/fanout", "server/memlimit", "server/stats", "server/tracking"},
	"server/monitor":             {"server/command"},
	"server/conn/share":          {"engine", "server/acl", "server/command", "server/conn/wait", "server/resp"},
	"server/conn/wait":           {},
	"server/localstore":          {"engine"},
	"server/conn/access":         {"engine", "server/acl", "server/command", "server/localstore", "server/stats"},
	"server/command/data/stream": {"engine", "engine/blocks", "engine/datatype", "engine/large", "server/command", "server/command/data", "server/resp"},
}

// ofEngine are the packages that go with "engine" in the rules: a rule that permits it permits them.
var ofEngine = []string{"engine/admission", "engine/calendar", "engine/database", "engine/keyspace", "engine/limits", "engine/policy", "engine/request", "engine/store", "engine/transaction"}

// ofCommand are the packages of commands. They go with "server/command" in the rules, except for each other.
var ofCommand = []string{"server/command/all", "server/command/data", "server/command/data/gcra", "server/command/data/hash", "server/command/data/key", "server/command/data/list", "server/command/data/stream",
	"server/command/data/set", "server/command/data/str", "server/command/data/zset", "server/command/limiter", "server/command/ops"}

// forTests are packages that only tests may import.
var forTests = []string{"server/transcripttest", "server/clock/clocktest", "server/servertest"}

// pure lists the packages that the engine may not import: clocks, files, networks, processes, logs.
var pure = []string{"os", "os/exec", "os/signal", "io", "io/fs", "bufio", "net", "net/http", "syscall", "log", "log/slog", "context", "math/rand", "math/rand/v2"}

// exceptions to pure, each with its reason.
var exceptions = map[string]string{
	"engine/internal/offheap/mmap.go syscall":          "asks the system for blocks of memory the garbage collector need not look at",
	"engine/internal/offheap/discard_linux.go syscall": "gives the memory of a block back to the system",
}

// impure are the functions of package time that look at a clock.
var impure = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

type sourceFile struct {
	name string // slash-separated, from the root
	tree *ast.File
	set  *token.FileSet // of the positions in all files
}

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// sources parses every Go file of the module.
func sources(t *testing.T) (files []sourceFile) {
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || !strings.Contains(name, "/"):
			return nil
		}
		tree, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, sourceFile{name, tree, set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func imports(f sourceFile) (paths []string) {
	for _, spec := range f.tree.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, name)
	}
	return paths
}

// Parts import only the packages in the table. Tests may also import test packages.
func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range sources(t) {
		dir := path.Dir(f.name)
		part, _, _ := strings.Cut(dir, "/")
		allowed, known := mayImport[part]
		if !known {
			t.Errorf("%s: %s is no part of the design: add it to the table here and to the design", f.name, part)
			continue
		}
		seen[part] = true
		inner, isNarrow := within[dir]
		for _, name := range imports(f) {
			ours, is := strings.CutPrefix(name, module+"/")
			if !is {
				continue
			}
			to, _, _ := strings.Cut(ours, "/")
			switch {
			case f.isTest() && (slices.Contains(forTests, ours) || to == "internal"):
			case part == "cluster" && f.isTest() && (ours == "server/command" || slices.Contains(ofCommand, ours)): // the simulation runs real scripts
			case f.name == "cluster/upstream_faults_test.go" && ours == "server/upstream": // goes through faults on simulated nodes
			case f.name == "server/cluster_player_test.go" && strings.HasPrefix(ours, "cluster"): // plays the transcripts on three nodes
			case isNarrow && f.isTest() && slices.Contains(inner, to): // a test may use all of a part that its package uses some of
			case isNarrow && !f.isTest():
				goesWith := slices.Contains(ofEngine, ours) && slices.Contains(inner, "engine") ||
					slices.Contains(ofCommand, ours) && slices.Contains(inner, "server/command") && (dir == "server/command/all" || !slices.Contains(ofCommand, dir))
				if ours != dir && !slices.Contains(inner, ours) && !goesWith {
					t.Errorf("%s imports %s: %s may import only %v of ours", f.name, ours, dir, inner)
				}
			case to != part && !slices.Contains(allowed, to) && !slices.Contains(allowed, ours):
				t.Errorf("%s imports %s: %s may import only %v of ours", f.name, ours, part, allowed)
			case slices.Contains(forTests, ours):
				t.Errorf("%s imports %s, which is for tests", f.name, ours)
			}
		}
	}
	for _, part := range []string{"engine", "server", "cmd"} {
		if !seen[part] {
			t.Errorf("no file of %s was looked at", part)
		}
	}
}

// The engine is pure: time is an argument, and nothing in it waits, reads, writes or starts anything.
func TestEngineIsPure(t *testing.T) {
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.name, "engine/") || f.isTest() {
			continue
		}
		for _, name := range imports(f) {
			if slices.Contains(pure, name) && exceptions[f.name+" "+name] == "" {
				t.Errorf("%s imports %s", f.name, name)
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", f.name)
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && slices.Contains(impure, n.Sel.Name) {
					t.Errorf("%s uses time.%s", f.name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// Every package has a doc comment.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if !f.isTest() && !strings.HasPrefix(f.name, "clients/") {
			dir := path.Dir(f.name)
			documented[dir] = documented[dir] || f.tree.Doc != nil
		}
	}
	for dir, is := range documented {
		if !is {
			t.Errorf("%s has no package comment", dir)
		}
	}
}
