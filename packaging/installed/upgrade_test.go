//go:build installed

package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// firstToGoBackTo stands for the last release while there is none: the commit from which on nodes have kept their votes
// in today's files. A build before it refuses the directory of a newer one.
const firstToGoBackTo = "4d42a07f17abab638145c8b67e1a43729724bcd6"

// lastRelease is a folder with the source of the release before this commit.
func lastRelease(t *testing.T) (source string) {
	t.Helper()
	commit := lastReleaseIn(t, "../..")
	t.Logf("the last release is %s", commit)
	source = t.TempDir()
	output(t, "sh", "-c", fmt.Sprintf("git -C ../.. archive %s | tar -x -C %s", commit, source))
	return source
}

// lastReleaseIn is the newest release before the checked-out commit of a repository: its tag, or its commit in a clone
// without tags.
func lastReleaseIn(t *testing.T, repository string) (commit string) {
	t.Helper()
	git := func(args ...string) []string {
		return strings.Fields(output(t, "git", append([]string{"-C", repository}, args...)...))
	}
	if git("rev-parse", "--is-shallow-repository")[0] == "true" {
		t.Fatal("the clone has no history to find the last release in: git fetch --unshallow --tags")
	}
	if tags := git("tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged=HEAD", "--no-contains=HEAD"); len(tags) > 0 {
		return tags[0]
	}
	for _, commit := range git("log", "--format=%H", "--extended-regexp", "--grep=^release: [0-9]+\\.[0-9]+\\.[0-9]+$") {
		if commit != git("rev-parse", "HEAD")[0] {
			return commit
		}
	}
	return firstToGoBackTo
}

// The release before a commit is the newest one before it, and not the commit's own. A clone without tags finds the
// same.
func TestInstalledLastRelease(t *testing.T) {
	repository := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(output(t, "git", append([]string{"-C", repository, "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"}, args...)...))
	}
	output(t, "git", "init", "--quiet", repository)
	for _, step := range []struct{ subject, tag, want string }{
		{"work", "", firstToGoBackTo},
		{"clients", "clients/go/v0.9.0", firstToGoBackTo},
		{"release: 0.2.0", "v0.2.0", firstToGoBackTo},
		{"more work", "", "v0.2.0"},
		{"release: 0.9.0", "v0.9.0", "v0.2.0"},
		{"release: 0.10.0", "v0.10.0", "v0.9.0"},
		{"release: notes", "", "v0.10.0"},
	} {
		git("commit", "--quiet", "--allow-empty", "--message", step.subject)
		if step.tag != "" {
			git("tag", "--annotate", step.tag, "--message", step.tag)
		}
		if got := lastReleaseIn(t, repository); got != step.want {
			t.Errorf("at %q the last release is %s, not %s", step.subject, got, step.want)
		}
		without := filepath.Join(t.TempDir(), "without-tags")
		output(t, "git", "clone", "--quiet", "--no-tags", repository, without)
		want := step.want
		if want != firstToGoBackTo {
			want = git("rev-parse", want+"^{commit}")
		}
		if got := lastReleaseIn(t, without); got != want {
			t.Errorf("at %q the last release is %s in a clone without tags, not %s", step.subject, got, want)
		}
	}
}

// installation is a server whose program is replaced as by a package: under the same name.
type installation struct {
	*testserver.Process
	program string
}

func install(t *testing.T, program string, options ...string) *installation {
	t.Helper()
	i := &installation{program: filepath.Join(t.TempDir(), "stint")}
	i.put(t, program)
	i.Process = testserver.NewServer(t, i.program, append([]string{"--admin", "", "--dir", "state"}, options...)...)
	i.Start(t)
	t.Cleanup(func() { i.Stop(t) })
	return i
}

func (i *installation) put(t *testing.T, program string) {
	t.Helper()
	_ = os.Remove(i.program)
	if err := os.Symlink(program, i.program); err != nil {
		t.Fatal(err)
	}
}

// restart stops the server, and starts it as the other program.
func (i *installation) restart(t *testing.T, program string) {
	t.Helper()
	i.Stop(t)
	i.put(t, program)
	i.Start(t)
	i.AwaitReady(t)
}

// TestInstalledUpgrade replaces the last release's program by this one's under load, and back.
func TestInstalledUpgrade(t *testing.T) {
	before, now := testserver.BuildFrom(t, lastRelease(t)), program(t)
	t.Run("alone", func(t *testing.T) {
		server := install(t, before)
		server.AwaitReady(t)
		l := startLoad(t, server.Address)
		for _, next := range []string{now, before, now} {
			l.awaitRound(t)
			server.restart(t, next)
		}
		l.awaitRound(t)
		l.check(t)
	})
	t.Run("cluster", func(t *testing.T) {
		var nodes []*installation
		var addresses []string
		peers := testserver.ReserveAddresses(t, 3)
		for n, own := range peers {
			node := install(t, before, "--node-id", fmt.Sprint("node", n+1), "--cluster-listen", own, "--cluster-peers", strings.Join(peers, ","),
				"--cluster-heartbeat", "1s", "--decide-timeout", "20s") // so that a busy machine causes neither elections nor refusals
			nodes, addresses = append(nodes, node), append(addresses, node.Address)
		}
		for _, node := range nodes {
			node.AwaitFormed(t)
		}
		l := startLoad(t, addresses...)
		roll := func(to string, nodes ...*installation) {
			for _, node := range nodes {
				l.awaitRound(t)
				node.restart(t, to)
				node.AwaitFormed(t)
			}
		}
		roll(now, nodes[:2]...)
		roll(before, nodes[:2]...) // as long as one node is not upgraded, all can go back
		format := formatVersion(t, nodes[0])
		roll(now, nodes...)
		l.awaitRound(t)
		if formatVersion(t, nodes[0]) == format {
			roll(before, nodes...) // and later, where the new version has added nothing to the log
			roll(now, nodes...)
		} else {
			refuseToGoBack(t, before, now, nodes)
		}
		l.awaitRound(t)
		l.check(t)
	})
}

// refuseToGoBack starts all nodes as the last release once the cluster has raised its format version. Those that read so
// far in the log end, and the others decide nothing. Then the nodes go on as this release.
func refuseToGoBack(t *testing.T, before, now string, nodes []*installation) {
	t.Helper()
	start := func(program string) {
		for _, node := range nodes {
			node.put(t, program)
			node.Start(t)
		}
	}
	for _, node := range nodes {
		node.Stop(t)
	}
	start(before)
	testwait.UntilNil(t, "the cluster does not go back", func() error {
		ended := 0
		for _, node := range nodes {
			if is, state := node.Running(); is {
				continue
			} else if state.Success() || !strings.Contains(node.Output(), "an entry of a newer version of Stint; start that version on this node") {
				t.Fatalf("%v: it does not say that a newer version is needed: %s", state, node.Output())
			}
			ended++
		}
		if ended <= len(nodes)/2 {
			return fmt.Errorf("%d nodes of %d have ended", ended, len(nodes))
		}
		return nil
	})
	for _, node := range nodes {
		if is, _ := node.Running(); is {
			if reply, err := ask(node.Address, "TB.ACQUIRE", "k", "1", "1/d"); err == nil && !strings.HasPrefix(reply, "-CLUSTERDOWN ") {
				t.Errorf("a node of the last release replies %q", reply)
			}
			if err := node.End(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	start(now)
	for _, node := range nodes {
		node.AwaitReady(t)
		node.AwaitFormed(t)
	}
}

// formatVersion is the line of INFO that has it.
func formatVersion(t *testing.T, node *installation) string {
	t.Helper()
	info, err := ask(node.Address, "INFO", "cluster")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, is := strings.Cut(info, "cluster_format_version:")
	if !is {
		t.Fatalf("no format version: %s", info)
	}
	version, _, _ := strings.Cut(rest, "\r\n")
	return version
}
