package docker

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stintdb/stint/internal/testserver"
)

// giveUp is how long a test waits for what must come. It is only reached when the test fails.
const giveUp = time.Minute

// exported is what servers export: of each series' name, the values of its labels.
type exported map[string]map[string]map[string]bool

// scrapeServers starts a single server and a node of a cluster, sends them commands, and returns their metrics.
func scrapeServers(t *testing.T) exported {
	binary, peer := testserver.Build(t, ".."), testserver.ReserveAddress(t)
	all := exported{"up": {}}
	for _, options := range [][]string{
		{"--dir", t.TempDir()},
		{"--dir", t.TempDir(), "--cluster-listen", peer, "--cluster-peers", peer, "--node-id", "a"},
	} {
		server := testserver.StartServer(t, binary, append(options, "--admin", "127.0.0.1:0")...)
		listen, admin := server.Address, server.Admin(t)
		server.Await(t, "its /readyz answers that it is", func() bool {
			response, err := http.Get("http://" + admin + "/readyz")
			if err != nil {
				return false
			}
			response.Body.Close()
			return response.StatusCode == http.StatusOK
		})
		do(t, listen, "RL.POLICY SET p TB p:{} 1 1/h", "RL.CHECK p 1", "RL.CHECK p 1", "TB.ACQUIRE a 1 1/h", "TB.ACQUIRE a 1 1/h", "TB.ACQUIRE")
		all.scrape(t, admin)
	}
	return all
}

func (all exported) scrape(t *testing.T, admin string) {
	response, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		for _, m := range family.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			switch {
			case m.Histogram != nil:
				all.add(name+"_sum", labels)
				all.add(name+"_count", labels)
				labels["le"] = "+Inf"
				all.add(name+"_bucket", labels)
			case m.Summary != nil:
				for _, q := range m.Summary.Quantile {
					labels["quantile"] = fmt.Sprint(q.GetQuantile())
					all.add(name, labels)
				}
			default:
				all.add(name, labels)
			}
		}
	}
}

func (all exported) add(name string, labels map[string]string) {
	if all[name] == nil {
		all[name] = map[string]map[string]bool{}
	}
	for label, value := range labels {
		if all[name][label] == nil {
			all[name][label] = map[string]bool{}
		}
		all[name][label][value] = true
	}
}

// waitFor waits for a condition. Every wait of this module goes through it.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(giveUp); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: waiting until %s", what)
		}
	}
}

// do has commands carried out, and waits for their replies.
func do(t *testing.T, address string, commands ...string) {
	conn, err := net.DialTimeout("tcp", address, giveUp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	for _, c := range append(commands, "ECHO last") {
		words := strings.Fields(c)
		fmt.Fprintf(conn, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if lines.Text() == "last" {
			return
		}
	}
	t.Fatal("the connection ended")
}
