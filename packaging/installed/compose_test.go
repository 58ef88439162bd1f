//go:build installed

package installed

import (
	"archive/tar"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// project is a compose file as users start it, in a Docker with a network of its own, where the file's ports are free.
type project struct {
	docker
	file string
	left int // tokens of ten
}

// compose loads the release's image for a compose file, and ends with the test.
func compose(t *testing.T, file string) *project {
	t.Helper()
	p := &project{startDocker(t, "--net"), filepath.Join("../../docker", file), 10}
	p.load(t, "stint:latest")
	return p
}

// up starts services without building their image.
func (p *project) up(t *testing.T, services ...string) {
	t.Helper()
	p.compose(t, append([]string{"up", "--detach", "--no-build", "--wait"}, services...)...)
}

func (p *project) compose(t *testing.T, args ...string) string {
	t.Helper()
	return p.runAs(t, "docker-compose", append([]string{"--file", p.file}, args...)...)
}

// take takes a token of ten at a port of the network.
func (p *project) take(t *testing.T, port string) {
	t.Helper()
	p.left--
	pid := fmt.Sprint(p.daemon.Pid())
	testwait.UntilNil(t, "a token is granted", func() error {
		out, err := testserver.Command(t, "nsenter", "--target", pid, "--net", "redis-cli", "-p", port, "--no-auth-warning", "-a", password, "TB.ACQUIRE", "k", "10", "1/d").CombinedOutput()
		got := strings.Fields(string(out))
		if err != nil || strings.Contains(string(out), "CLUSTERDOWN") || strings.Contains(string(out), "refused") {
			return errors.Join(errNotYet, fmt.Errorf("%v %s", err, out))
		}
		if len(got) != 5 || got[0] != "1" || got[2] != fmt.Sprint(p.left) {
			t.Fatalf("%q, not one of ten tokens granted and %d left", got, p.left)
		}
		return nil
	})
}

const password = "of this test"

// TestInstalledCompose starts the one server of compose.yaml, kills it, and starts it again with its volume.
func TestInstalledCompose(t *testing.T) {
	p := compose(t, "compose.yaml")
	p.up(t)
	p.take(t, "6379")
	p.compose(t, "stop")
	p.up(t)
	p.take(t, "6379")
	p.compose(t, "down")
	p.up(t)
	p.take(t, "6379")
	p.compose(t, "down", "--volumes")
	if left := p.run(t, "volume", "ls", "--quiet"); left != "" {
		t.Errorf("down leaves the volumes %s", left)
	}
}

// TestInstalledComposeCluster starts the nodes of compose.cluster.yaml and Prometheus. A node is killed: the others go
// on, and the rules of the repository raise the alert for that node alone, until it is back. Grafana's image is not to
// be had here.
func TestInstalledComposeCluster(t *testing.T) {
	p := compose(t, "compose.cluster.yaml")
	output(t, "promtool", "check", "rules", "../../docker/prometheus/stint.rules.yml")
	p.importPrometheus(t)
	p.up(t, "a", "b", "c", "prometheus")
	ports := []string{"6379", "6479", "6579"}
	for _, port := range ports {
		p.take(t, port)
	}
	p.awaitQuery(t, `count(up{job="stint"} == 1)`, "3")
	p.awaitQuery(t, `sum(stint_decisions_total{command="tb.acquire",outcome="granted"})`, "3")

	p.compose(t, "kill", "c")
	p.take(t, ports[0])
	p.take(t, ports[1])
	const firing = `ALERTS{alertname="StintDown",alertstate="firing"}`
	// It fires a minute after it was seen, which is longer than a test waits.
	_ = testwait.Poll(func() error { return p.query(t, `count(`+firing+`)`, "1") })
	p.awaitQuery(t, `count(`+firing+`)`, "1")
	p.awaitQuery(t, `count(ALERTS{alertname="StintDown",alertstate="firing",instance="c:6380"})`, "1")

	p.compose(t, "start", "c")
	p.take(t, ports[2])
	p.awaitQuery(t, `count(up{job="stint"} == 1) unless count(`+firing+`)`, "3")
	p.compose(t, "down", "--volumes")
}

var prometheusImage = regexp.MustCompile(`image: (prom/prometheus:\S+)`)

// importPrometheus makes the image that the compose file names of a Prometheus of the same version, because no registry
// is at hand.
func (p *project) importPrometheus(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	name := prometheusImage.FindStringSubmatch(string(text))[1]
	archive := filepath.Join(t.TempDir(), "prometheus.tar")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(file)
	const nobody = 65534
	for _, folder := range []string{"./", "bin/", "prometheus/"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: folder, Typeflag: tar.TypeDir, Mode: 0o755, Uid: nobody, Gid: nobody}))
	}
	for _, program := range []string{"prometheus", "promtool"} {
		content, failed := os.ReadFile(strings.TrimSpace(output(t, "which", program)))
		err = errors.Join(err, failed, w.WriteHeader(&tar.Header{Name: "bin/" + program, Mode: 0o755, Size: int64(len(content))}))
		_, failed = w.Write(content)
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	p.run(t, "import", "--change", `ENTRYPOINT ["/bin/prometheus"]`, "--change", "WORKDIR /prometheus", "--change", "USER 65534", archive, name)
	if said := output(t, "prometheus", "--version"); !strings.Contains(said, "version "+strings.Split(name, ":v")[1]) {
		t.Fatalf("%s is not %s", said, name)
	}
	t.Logf("%s on %s", name, runtime.GOARCH)
}

// query asks Prometheus, whose answer is one number or none.
func (p *project) query(t *testing.T, query, want string) error {
	t.Helper()
	answer, err := p.try(t, "docker-compose", "--file", p.file, "exec", "--no-TTY", "prometheus", "/bin/promtool", "query", "instant", "http://localhost:9090", query)
	if got := strings.Fields(answer); err != nil || len(got) < 3 || got[len(got)-2] != want {
		return fmt.Errorf("%s is %q, %v, not %s", query, answer, err, want)
	}
	return nil
}

func (p *project) awaitQuery(t *testing.T, query, want string) {
	t.Helper()
	testwait.UntilNil(t, "Prometheus knows", func() error { return p.query(t, query, want) })
}
