//go:build e2e

package docs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

var localPort = regexp.MustCompile(`\b[678]00[1-9]\b`)

// TestClusterExamples starts the cluster of docs/cluster.md with the lines of the page, but on
// reserved ports, and runs the other examples of the page on it.
func TestClusterExamples(t *testing.T) {
	require(t, installed("redis-cli"), "redis-cli", redisTools)
	e := &examples{T: t, page: clusterPage, tools: t.TempDir(), dir: t.TempDir()}
	if err := os.Symlink(buildServer(t), filepath.Join(e.tools, "stint")); err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	assignment, started, ran := "", 0, 0
	for _, b := range readPage(t, clusterPage).blocks() {
		for i, line := range b.lines {
			b.lines[i] = localPort.ReplaceAllStringFunc(line, func(port string) string {
				if ports[port] == "" {
					_, ports[port], _ = net.SplitHostPort(testserver.ReserveAddress(t))
				}
				return ports[port]
			})
		}
		switch {
		case b.language == "sh" && started == 0:
			assignment, started = b.lines[0], e.startCluster(b)
			e.awaitHealth(ports)
		case b.language == "sh" && strings.Contains(b.text(), "--node-id d"):
			started += e.startCluster(block{lines: append([]string{assignment}, b.lines...)})
			testwait.Until(t, "the fourth node has joined", func() bool {
				return strings.Contains(e.shell("redis-cli -p "+ports["6001"]+" CLUSTER INFO"), "cluster_known_nodes:4")
			})
		case b.language == "console":
			ran++
			start := time.Now()
			got, want := e.console(b)
			if difference := compare(got, want, time.Since(start)); difference != "" {
				t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", clusterPage, b.line, difference, got, want)
			}
		}
	}
	if started != 4 || ran == 0 {
		t.Errorf("%d nodes were started and %d examples run", started, ran)
	}
}

// awaitHealth waits until each node reports that it has caught up: a follower does so a moment after the first
// decision.
func (e *examples) awaitHealth(ports map[string]string) {
	e.Helper()
	for page, port := range ports {
		if page[0] != '6' { // the port of the other nodes
			continue
		}
		testwait.Until(e, "the node at port "+port+" has caught up", func() bool {
			return strings.Contains(e.shell("redis-cli -p "+port+" CLUSTER INFO"), "cluster_state:ok")
		})
	}
}

// startCluster runs a block: an assignment, servers in the background, and then commands, which are run once the
// servers have met.
func (e *examples) startCluster(b block) (servers int) {
	e.Helper()
	assignment := b.lines[0]
	for _, line := range b.lines[1:] {
		command, background := strings.CutSuffix(line, " &")
		if background {
			e.background(assignment + "\n" + command)
			servers++
			continue
		}
		testwait.UntilNil(e, command+" is carried out", func() error {
			if out := e.shell(command); !strings.Contains(out, "(integer) 1\n") && !strings.HasPrefix(out, "1\n") {
				return errors.New(out)
			}
			return nil
		})
	}
	return servers
}

func (e *examples) shell(command string) string {
	c := testserver.Command(e.T, "sh", "-c", command)
	c.Dir = e.dir
	return e.output(c, "")
}

// testSettings keep a busy machine from causing elections and refusals, and give the nodes groups, so that the page's
// policies are checked as a cluster with groups checks them.
const testSettings = "--cluster-heartbeat 1s --decide-timeout 20s --groups 3 --cluster-shared everyone"

// background runs a server until the end of the test, which fails unless it then ends well.
func (e *examples) background(script string) {
	p := testserver.NewProcess(e.T, "sh", "-c", strings.Replace(script, "stint server", "exec stint server "+testSettings, 1))
	p.Dir = e.dir
	p.Env = append(os.Environ(), "PATH="+e.tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	p.Start(e.T)
	e.Cleanup(func() { p.Stop(e.T) })
}
