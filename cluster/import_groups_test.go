package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// importingCluster starts a cluster whose node b brings an import.
func importingCluster(t *testing.T, groups int) *simulated {
	s := simulate(t)
	s.names, s.imports = []string{"a", "b", "c"}, map[string]string{"b": "then"}
	if groups > 1 {
		s.groups, s.shared = groups, []string{"global:*"}
	}
	for _, name := range s.names {
		s.start(name)
	}
	s.leader()
	return s
}

// askers send requests to all nodes until stop, and count the tokens granted of the limits of usedGroups.
type askers struct {
	s              *simulated
	mu             sync.RWMutex // of the nodes
	stopped        atomic.Bool
	asking         sync.WaitGroup
	early, refused atomic.Int64
	global         atomic.Int64
	users          [faultGroups]atomic.Int64
}

func (a *askers) run(name string) {
	a.asking.Go(func() {
		for i := 0; !a.stopped.Load(); i++ {
			a.mu.RLock()
			n := a.s.nodes[name]
			a.mu.RUnlock()
			number := i % faultGroups
			for _, res := range do(n, acquire(string(keyOf(number+1, faultGroups, 7)), 1000, 20),
				acquire("global:x", 10_000, 90)) {
				switch {
				case res.Status == engine.Importing:
					a.refused.Add(1)
				case res.Status != engine.OK: // nodes are restarted
				case !a.isWhole():
					a.early.Add(1)
				case res.Limit == 1000:
					a.users[number].Add(res.Granted)
				default:
					a.global.Add(res.Granted)
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// isWhole reports whether group 0, the last, has its part.
func (a *askers) isWhole() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, n := range a.s.nodes {
		if n.first.Cluster().Imported {
			return true
		}
	}
	return false
}

func (a *askers) restart(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.s.kill(name)
	a.s.start(name)
}

// A backup of groups starts a cluster with another number of groups, even if all nodes end after any step of the
// import: the steps are the parts on disk, and the groups that have their part. Nothing is decided before all groups
// have their parts, and no limit grants more than was left.
func TestImportIntoGroups(t *testing.T) {
	file, granted := usedGroups(t)
	for _, groups := range []int{1, 3} {
		steps := 2 * (&Options{Groups: groups}).partsOfImport()
		for end := range steps + 1 { // after the last step no node ends
			synctest.Test(t, func(t *testing.T) { endImport(t, groups, end, steps, file, granted) })
		}
	}
}

// endImport ends all nodes after one of the steps of an import.
func endImport(t *testing.T, groups, end, steps int, file []byte, granted int64) {
	s := importingCluster(t, groups)
	defer s.stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, step := &askers{s: s}, 0
	s.nodes["b"].opt.onImport = func(number int) {
		if step++; step == end+1 {
			cancel()
		}
	}
	for _, name := range s.names {
		a.run(name)
	}
	if err := importAt(t, s, "b", file, ctx); (err == nil) != (end >= steps-1) {
		t.Errorf("%d groups, ended at step %d of %d: %v", groups, end, steps, err)
	}
	for _, name := range s.names {
		a.restart(name)
	}
	time.Sleep(2 * time.Second)
	if err := importAt(t, s, "b", file, t.Context()); err != nil {
		t.Errorf("%d groups, again, after step %d: %v", groups, end, err)
	}
	s.awaitImported()
	if err := importAt(t, s, "a", file, t.Context()); err != nil {
		t.Errorf("%d groups, a second import: %v", groups, err)
	}
	time.Sleep(3 * time.Second)
	a.stopped.Store(true)
	a.asking.Wait()
	if n := a.early.Load(); n > 0 {
		t.Errorf("%d groups, ended at step %d: %d requests were decided before all groups had their parts", groups, end, n)
	}
	if got := a.global.Load(); got > 10_000-granted || got == 0 {
		t.Errorf("%d groups, ended at step %d: %d granted of a limit with %d of 10000 granted before", groups, end, got,
			granted)
	}
	for number := range a.users {
		if got := a.users[number].Load(); got > 1000-granted/faultGroups || got == 0 {
			t.Errorf("%d groups, ended at step %d: %d granted of a limit with %d of 1000 granted before", groups, end, got,
				granted/faultGroups)
		}
	}
	if a.refused.Load() == 0 {
		t.Errorf("%d groups, ended at step %d: no request came before the import: this test shows nothing", groups, end)
	}
	s.mustNotFail()
}

func importAt(t *testing.T, s *simulated, name string, file []byte, ctx context.Context) error {
	s.nodes[name].opt.ImportName = "then"
	_, err := s.nodes[name].Import(ctx, readSource(t, file))
	return err
}

// awaitImported waits until every node has the state of every group, and decides.
func (s *simulated) awaitImported() {
	s.eventually("all nodes have the state", func(n *Node) bool {
		for _, g := range n.groups() {
			if !g.Cluster().Imported {
				return false
			}
		}
		return n.Status().Healthy
	})
}

// An import comes to every node, and leaves each group on some nodes.
func TestImportIntoReplicas(t *testing.T) {
	file, granted := usedGroups(t)
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3
		s := simulate(t)
		defer s.stop()
		s.names, s.groups, s.replicas, s.shared, s.imports = []string{"a", "b", "c", "d", "e"}, groups, replicas,
			[]string{"global:*"}, map[string]string{"b": "then"}
		for _, name := range s.names {
			s.start(name)
		}
		s.leader()
		time.Sleep(10 * time.Second) // no replica moves earlier
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := importAt(t, s, "b", file, ctx); err != nil {
			t.Fatal(err)
		}
		s.awaitImported()
		s.awaitPlaced(groups, replicas)
		for name, n := range s.nodes {
			got := do(n, engine.Op{Verb: engine.Look, Key: keyOf(1, faultGroups, 7)})[0]
			if got.Remaining != 1000-granted/faultGroups {
				t.Errorf("%s: %+v of a limit with %d of 1000 granted", name, got, granted/faultGroups)
			}
		}
		s.mustNotFail()
	})
}

// An import replaces nothing however long it takes, and another node may complete it.
func TestImportIntoGroupsLate(t *testing.T) {
	file, granted := usedGroups(t)
	for _, groups := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) { importLate(t, groups, file, granted) })
	}
}

func importLate(t *testing.T, groups int, file []byte, granted int64) {
	s := importingCluster(t, groups)
	defer s.stop()
	s.nodes["b"].opt.onImport = func(int) { time.Sleep(25 * time.Second) } // each step
	ctx, cancel := context.WithTimeout(t.Context(), 110*time.Second)       // group 0 has nothing yet
	defer cancel()
	from := readSource(t, file)
	if groups == 1 {
		from.Scratch = filepath.Join(from.Scratch, "missing")
	}
	if _, err := s.nodes["b"].Import(ctx, from); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if got := do(s.nodes["a"], acquire("global:x", 10_000, 1))[0]; got.Status != engine.Importing {
		t.Errorf("%+v", got)
	}
	for _, n := range s.nodes {
		if st := n.Status(); st.Healthy || !st.AwaitsImport {
			t.Errorf("%s is healthy, and decides nothing: %+v", n.opt.Node, st)
		}
		if err := n.Barrier(t.Context()); !errors.Is(err, ErrImporting) {
			t.Errorf("%s answers questions about policies: %v", n.opt.Node, err)
		}
		for _, stale := range []bool{false, true} {
			if _, err := n.Backup(t.Context(), io.Discard, stale); !errors.Is(err, ErrImporting) {
				t.Errorf("%s makes a backup of a part of the state: %v", n.opt.Node, err)
			}
		}
	}
	s.kill("b")
	if err := importAt(t, s, "c", file, t.Context()); err != nil {
		t.Fatal(err)
	}
	delete(s.nodes, "b")
	s.awaitImported()
	if got := do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: []byte("global:x")})[0]; got.Remaining > 10_000-granted ||
		got.Remaining == 0 {
		t.Errorf("%+v of a limit with %d of 10000 granted", got, granted)
	}
	s.start("b")
	s.awaitImported()
	s.mustNotFail()
}

// A cluster that was formed with another import, or without one, refuses an import, whether it has been used or not.
func TestImportIntoGroupsInUse(t *testing.T) {
	file, _ := usedGroups(t)
	for _, groups := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t)
			s.names = []string{"a", "b", "c"}
			if groups > 1 {
				s.groups = groups
			}
			for _, name := range s.names {
				s.start(name)
			}
			defer s.stop()
			s.leader()
			if err := importAt(t, s, "b", file, t.Context()); !errors.Is(err, ErrNotDue) {
				t.Error(err)
			}
			if got := do(s.nodes["a"], engine.Op{Verb: engine.Look, Key: []byte("global:x")})[0]; got.Status != engine.NotFound {
				t.Errorf("%+v of a key of the import", got)
			}
			s.mustNotFail()
		})
		synctest.Test(t, func(t *testing.T) {
			s := importingCluster(t, groups)
			defer s.stop()
			s.nodes["c"].opt.ImportName = "another"
			if _, err := s.nodes["c"].Import(t.Context(), readSource(t, file)); err == nil || !strings.Contains(err.Error(),
				"another state, of then") {
				t.Error(err)
			}
			s.mustNotFail()
		})
	}
}

// A fault that passes only delays an import, for which all requests wait.
func TestImportIntoGroupsTriesAgain(t *testing.T) {
	file, _ := usedGroups(t)
	synctest.Test(t, func(t *testing.T) {
		s := importingCluster(t, 2)
		defer s.stop()
		from := readSource(t, file)
		from.Scratch = filepath.Join(from.Scratch, "missing")
		time.AfterFunc(10*time.Second, func() { _ = os.Mkdir(from.Scratch, 0o700) })
		s.nodes["b"].opt.ImportName = "then"
		if _, err := s.nodes["b"].Import(t.Context(), from); err != nil {
			t.Error(err)
		}
		s.awaitImported()
		s.mustNotFail()
	})
}

// A part that is damaged, or not whole, stops the import before its group takes it. The next one writes it again.
func TestImportOfADamagedPart(t *testing.T) {
	file, _ := usedGroups(t)
	for _, damage := range []func(b []byte) []byte{
		func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { return append(b, 0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := importingCluster(t, 2)
			defer s.stop()
			from, n := readSource(t, file), s.nodes["b"]
			path, damaged := filepath.Join(from.Scratch, "import-2.tmp"), false
			n.opt.onImport = func(number int) {
				if number != 2 || damaged {
					return
				}
				damaged = true
				b, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, damage(b), 0o600)
				}
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := n.Import(t.Context(), from); err == nil || !strings.Contains(err.Error(),
				"group 2: "+path+" is damaged") {
				t.Errorf("%v", err)
			}
			if n.groupOf(2).Cluster().Imported || !n.groupOf(1).Cluster().Imported {
				t.Error("group 2 has its part, or group 1 has not")
			}
			if err := importAt(t, s, "b", file, t.Context()); err != nil {
				t.Error(err)
			}
			s.awaitImported()
			if left, _ := filepath.Glob(filepath.Join(from.Scratch, "*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			s.mustNotFail()
		})
	}
}
