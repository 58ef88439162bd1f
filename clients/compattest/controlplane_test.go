//go:build e2e

package compattest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stintdb/stint/internal/testserver"
)

// controlPlane is the program xds.
type controlPlane struct {
	address string
	input   io.WriteCloser
	output  *bufio.Scanner
	stop    func()
}

func startControlPlane(t *testing.T, node string) *controlPlane {
	t.Helper()
	program := filepath.Join(t.TempDir(), "xds")
	inFolder(t, "xds", "go", "build", "-o", program, ".")
	cmd := testserver.Command(t, program, node)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &controlPlane{input: input, output: bufio.NewScanner(output), stop: func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	}}
	t.Cleanup(c.stop)
	c.address = strings.TrimPrefix(c.line(t), "listening on ")
	return c
}

func (c *controlPlane) line(t *testing.T) string {
	t.Helper()
	if !c.output.Scan() {
		t.Fatal("the control plane has ended", c.output.Err())
	}
	return c.output.Text()
}

// push pushes rules, and returns the answer.
func (c *controlPlane) push(t *testing.T, rules string) string {
	t.Helper()
	if _, err := fmt.Fprintln(c.input, rules); err != nil {
		t.Fatal(err)
	}
	return c.line(t)
}

// startAsRateLimit runs the server as Envoy Gateway does, by the name and with the variables of envoyproxy/ratelimit.
func startAsRateLimit(t *testing.T, control *controlPlane, others map[string]string) *testserver.Process {
	t.Helper()
	for name, value := range others {
		t.Setenv(name, value)
	}
	for name, value := range map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": control.address, "CONFIG_GRPC_XDS_NODE_ID": "envoy-ratelimit", "FORCE_START_WITHOUT_INITIAL_CONFIG": "true",
		"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "LOG_LEVEL": "info", "RUNTIME_ROOT": "/data", "REDIS_URL": "redis:6379",
	} {
		t.Setenv(name, value)
	}
	called := filepath.Join(t.TempDir(), "ratelimit")
	program, err := filepath.Abs(testserver.Build(t, filepath.Join("..", "..")))
	if err == nil {
		err = os.Symlink(program, called)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := testserver.NewProcess(t, called, "server", "--listen", "127.0.0.1:0", "--admin", "", "--dir", "state")
	server.Start(t)
	t.Cleanup(func() { server.Stop(t) })
	return server
}

// rateLimits returns a client of the server's rate limit service.
func rateLimits(t *testing.T, server *testserver.Process) ratelimit.RateLimitServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(server.Listening(t, "gRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return ratelimit.NewRateLimitServiceClient(conn)
}

// TestControlPlane pushes rules with go-control-plane.
func TestControlPlane(t *testing.T) {
	neverCached(t)
	control := startControlPlane(t, "envoy-ratelimit")
	server := startAsRateLimit(t, control, nil)
	if got := testserver.GetText(t, "http://"+server.Listening(t, "health")+"/healthcheck"); got != "ready\n" {
		t.Error(got)
	}
	if n := strings.Count(server.Output(), "variable=REDIS_URL"); n != 1 {
		t.Errorf("%d warnings of REDIS_URL", n)
	}
	ask := func(want string) {
		t.Helper()
		in := &ratelimit.RateLimitRequest{Domain: "eg/listener", Descriptors: []*extension.RateLimitDescriptor{{Entries: []*extension.RateLimitDescriptor_Entry{
			{Key: "route", Value: "route"}, {Key: "rule-0-match-0", Value: "rule-0-match-0"}, {Key: "masked_remote_address", Value: "10.0.0.0/8"}, {Key: "remote_address", Value: "10.0.0.7"},
		}}}}
		out, err := rateLimits(t, server).ShouldRateLimit(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(out.GetOverallCode(), " ", out.GetStatuses()[0].GetLimitRemaining()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	ask("OK 0") // no rules
	nested := func(limit string) string {
		return `[{"name": "eg/listener", "domain": "eg/listener", "descriptors": [{"key": "route", "value": "route", "descriptors": [{"key": "rule-0-match-0", "value": "rule-0-match-0", "descriptors": [
			{"key": "masked_remote_address", "value": "10.0.0.0/8", "descriptors": [{"key": "remote_address", "rateLimit": ` + limit + `}]}]}]}]}]`
	}
	oneLine := strings.NewReplacer("\n", "", "\t", "")
	if got, want := control.push(t, oneLine.Replace(nested(`{"unit": "YEAR", "requestsPerUnit": 3}`))), `answer: version "1", refused because ""`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	ask("OK 2")
	if got, want := control.push(t, oneLine.Replace(nested(`{"requestsPerUnit": 3}`))), `answer: version "1", refused because "\"eg/listener\": the descriptor `; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	ask("OK 1")
	control.stop()
	if err := server.End(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	server.Start(t)
	ask("OK 0")
	ask("OVER_LIMIT 0")
}
