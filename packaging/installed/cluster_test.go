//go:build installed

package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// nodes are machines with the package that form a cluster, and a limit of ten tokens that they share.
type nodes struct {
	machines []*machine
	left     int // tokens
}

const nodesPassword = "of clients"

// clusterSettings is the example of settings for three machines, as the first has them.
var clusterSettings = regexp.MustCompile("(?s)```toml\n(listen = .*?)```")

// bootNodes boots three machines, which are reachable as the example has them, and installs a package with the
// example's settings.
func bootNodes(t *testing.T, file string) *nodes {
	t.Helper()
	page, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	example := clusterSettings.FindSubmatch(page)
	if example == nil {
		t.Fatal("docs/cluster.md has no settings of the packages")
	}
	n := &nodes{left: 10}
	for i, name := range []string{"a", "b", "c"} {
		var network *machine
		if i > 0 {
			network = n.machines[0]
		}
		m := bootIn(t, network)
		n.machines = append(n.machines, m)
		output(t, "nsenter", "--target", m.init, "--net", "ip", "address", "add", n.address(i)+"/24", "dev", "lo")
		m.run(t, "dpkg --install "+m.copyIn(t, file))
		settings := strings.NewReplacer(`listen = "10.0.0.1`, `listen = "`+n.address(i), `node-id = "a"`, `node-id = "`+name+`"`).Replace(string(example[1]))
		secrets := "STINT_CLUSTER_SECRET=" + strings.Repeat("0123456789abcdef", 4) + "\nSTINT_REQUIREPASS=" + nodesPassword + "\n"
		for path, text := range map[string]string{"stint.toml": settings, "stint.env": secrets} {
			if err := os.WriteFile(filepath.Join(m.root, "etc/stint", path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.run(t, "systemctl enable --now stint")
	}
	return n
}

func (n *nodes) address(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

// ask asks a node, from a machine.
func (n *nodes) ask(i int, command string) string {
	return "redis-cli --no-auth-warning -a '" + nodesPassword + "' -h " + n.address(i) + " " + command
}

// take takes a token at a node, once it has a leader.
func (n *nodes) take(t *testing.T, from *machine, i int) {
	t.Helper()
	from.await(t, n.ask(i, "CLUSTER INFO"), "cluster_state:ok")
	n.left--
	if got := strings.Fields(from.run(t, n.ask(i, "TB.ACQUIRE k 10 1/d"))); len(got) != 5 || got[0] != "1" || got[2] != fmt.Sprint(n.left) {
		t.Fatalf("%q, not one of ten tokens granted and %d left", got, n.left)
	}
}

// TestInstalledCluster makes a cluster of three machines with the last release's package and the settings of
// docs/cluster.md. A machine is lost and comes back, and then all are upgraded, one after the other. What clients have
// used of a limit stays used.
func TestInstalledCluster(t *testing.T) {
	file := part(t, "stint_*_"+runtime.GOARCH+".deb")
	n := bootNodes(t, earlierPackage(t, file))
	first := n.machines[0]
	for i := range n.machines {
		n.take(t, first, i)
	}
	lost := n.machines[2]
	lost.kill(t)
	first.await(t, n.ask(0, "RAFT NODES"), "reachable\n0\n")
	n.take(t, first, 0)
	n.take(t, first, 1)
	lost.start(t)
	n.take(t, first, 2)
	for i, m := range n.machines {
		m.run(t, "dpkg --force-confdef --install "+m.copyIn(t, file))
		m.run(t, "systemctl restart stint")
		n.take(t, first, i)
		first.await(t, n.ask(i, "INFO server"), "stint_version:"+versionOf(file)+"\r\n")
	}
}
