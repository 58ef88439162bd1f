package browser

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testserver"
)

// giveUp is how long a test waits for an event that must come. It is only reached if the test fails.
const giveUp = time.Minute

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stint-browser")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	binary := filepath.Join(dir, "stint")
	command := testprocess.Command(ctx, "go", "build", "-o", binary, "./cmd/stint")
	command.Dir = filepath.Join("..", "..", "..")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return binary, nil
})

// toolTimeout limits the build, and an installation that may have to download, which the first test does for all.
const toolTimeout = 5 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// process is a running server.
type process struct {
	*testserver.Process
	listen, admin string
}

// start starts a server on the loopback, and ends it with the test.
func start(t *testing.T, options ...string) *process {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := testserver.StartServer(t, binary, append([]string{"--admin", "127.0.0.1:0"}, options...)...)
	return &process{p, p.Address, p.Admin(t)}
}

// do executes commands, and returns the first line of the last reply.
func do(t *testing.T, address string, commands ...string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, giveUp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	var in strings.Builder
	for _, c := range append(commands, "ECHO last") {
		words := strings.Fields(c)
		fmt.Fprintf(&in, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&in, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	if _, err := conn.Write([]byte(in.String())); err != nil {
		t.Fatal(err)
	}
	first := ""
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if first == "" {
			first = lines.Text()
		}
		if lines.Text() == "last" {
			return first
		}
	}
	t.Fatalf("%s: the connection ended", commands)
	return ""
}

// labelled returns the values of a metric by the values of a label.
func labelled(t *testing.T, address, name, label string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, m := range families(t, address)[name].GetMetric() {
		for _, l := range m.Label {
			if l.GetName() == label {
				values[l.GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return values
}

func families(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// sums returns a server's metrics, each summed over all series, and over the series with each value of the label
// outcome.
func sums(t *testing.T, address string) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	for name, family := range families(t, address) {
		for _, m := range family.Metric {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			sums[name] += value
			for _, label := range m.Label {
				if label.GetName() == "outcome" {
					sums[name+" "+label.GetValue()] += value
				}
				if name == "stint_top_denied" {
					sums[name+" "+label.GetValue()] = value
				}
			}
		}
	}
	return sums
}
