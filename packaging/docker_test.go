package packaging

import (
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/config"
)

// compose is the part of a compose file that the tests check.
type compose struct {
	Services map[string]composeService `json:"services"`
	Volumes  map[string]any            `json:"volumes"`
	Networks map[string]struct {
		Internal bool `json:"internal"`
	} `json:"networks"`
}

type composeService struct {
	Image       string            `json:"image"`
	Environment map[string]string `json:"environment"`
	Command     []string          `json:"command"`
	Volumes     []string          `json:"volumes"`
	Build       struct{ Context, Dockerfile string }
	Networks    any `json:"networks"`
}

// networks are a service's networks, each with the names that it has there alone.
func (s *composeService) networks() map[string][]string {
	all := map[string][]string{}
	switch given := s.Networks.(type) {
	case nil:
		all["default"] = nil
	case []any:
		for _, name := range given {
			all[name.(string)] = nil
		}
	case map[string]any:
		for name, settings := range given {
			all[name] = nil
			if of, is := settings.(map[string]any); is {
				for _, alias := range asList(of["aliases"]) {
					all[name] = append(all[name], alias.(string))
				}
			}
		}
	}
	return all
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// imageVariables are the settings that the image gives.
func imageVariables(t *testing.T) map[string]string {
	variables := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^ENV (.*)$`).FindAllStringSubmatch(read(t, "docker/Dockerfile"), -1) {
		for _, pair := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(pair, "=")
			variables[name] = value
		}
	}
	return variables
}

func TestDockerfile(t *testing.T) {
	text := read(t, "docker/Dockerfile")
	settings := newGiven(t)
	settings.environment(imageVariables(t))
	settings.check()
	health := regexp.MustCompile(`HEALTHCHECK .* CMD (\[.*\])`).FindStringSubmatch(text)
	var command []string
	if health == nil || json.Unmarshal([]byte(health[1]), &command) != nil || !slices.Equal(command, []string{"/stint", "health"}) {
		t.Errorf("the health check is not /stint health without a shell: %q", health)
	}
	for _, must := range []string{"CGO_ENABLED=0", "\nFROM scratch\n", "\nUSER 65532:65532\n", "./cmd/stint", `ENTRYPOINT ["/stint"]`, "-X main.version=", "ln -s /stint /out/bin/stint", "ln -s /stint /out/bin/ratelimit", "\nCOPY --from=build /out/bin /bin\n"} {
		if !strings.Contains(text, must) {
			t.Errorf("the Dockerfile has no %q", must)
		}
	}
	if version := regexp.MustCompile(`FROM golang:(\S+)`).FindStringSubmatch(text); version == nil || !strings.Contains(read(t, "go.mod"), "\ngo "+version[1]+".") {
		t.Errorf("it builds with Go %q, go.mod wants another", version)
	}
}

func TestComposeFiles(t *testing.T) {
	for _, file := range []string{"docker/compose.yaml", "docker/compose.cluster.yaml"} {
		t.Run(file, func(t *testing.T) {
			var c compose
			// Compose knows many fields; the others are not for this test.
			unmarshalLoosely(t, read(t, file), &c)
			nodes := 0
			for name, service := range c.Services {
				for _, volume := range service.Volumes {
					source, _, _ := strings.Cut(volume, ":")
					if len(source) == 1 {
						t.Errorf("%s: Compose takes %s for a drive of Windows", name, volume)
					}
					if _, named := c.Volumes[source]; !named {
						if _, err := os.Stat(filepath.Join(root, "docker", source)); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
				if service.Image != "stint" {
					if !regexp.MustCompile(`:v?\d+\.\d+\.\d+$`).MatchString(service.Image) {
						t.Errorf("%s: %s names no version", name, service.Image)
					}
					continue
				}
				nodes++
				if _, err := os.Stat(filepath.Join(root, "docker", service.Build.Context, service.Build.Dockerfile)); err != nil {
					t.Error(err)
				}
				settings := newGiven(t)
				settings.environment(imageVariables(t))
				settings.environment(service.Environment)
				if len(service.Command) > 0 {
					settings.flags(service.Command)
				}
				settings.check()
				if settings.cfg.ClusterListen != "" {
					checkComposeNode(t, &c, name, &settings.cfg)
				}
			}
			if want := map[string]int{"docker/compose.yaml": 1, "docker/compose.cluster.yaml": 3}[file]; nodes != want {
				t.Errorf("%d nodes, not %d", nodes, want)
			}
		})
	}
}

// checkComposeNode holds a node to be reached by nodes alone: it listens on a name that it has on a network of nodes
// only, and asks for a secret that the file requires.
func checkComposeNode(t *testing.T, c *compose, name string, cfg *config.Config) {
	t.Helper()
	service := c.Services[name]
	if cfg.NodeID != name || !slices.Contains(cfg.ClusterPeers, cfg.PeerAddress()) || cfg.ClusterAdvertise != "" {
		t.Errorf("%s: is node %q, at %s among %q", name, cfg.NodeID, cfg.PeerAddress(), cfg.ClusterPeers)
	}
	secret := service.Environment["STINT_CLUSTER_SECRET"]
	if !strings.HasPrefix(secret, "${") || !strings.Contains(secret, ":?") || cfg.ClusterInsecure {
		t.Errorf("%s: anybody can be a node: the secret is %q", name, secret)
	}
	host, _, _ := net.SplitHostPort(cfg.ClusterListen)
	var at []string // networks where the host is this node
	for network, aliases := range service.networks() {
		if host == name || slices.Contains(aliases, host) || net.ParseIP(host) != nil || host == "" {
			at = append(at, network)
		}
	}
	if len(at) != 1 || !c.Networks[at[0]].Internal {
		t.Fatalf("%s: it accepts nodes at %s, which is on the networks %q", name, cfg.ClusterListen, at)
	}
	for other, o := range c.Services {
		if _, is := o.networks()[at[0]]; is && o.Image != "stint" {
			t.Errorf("%s, which is no node, is on the network %s of the nodes", other, at[0])
		}
	}
}

// TestComposeVersion holds a file that needs a newer Compose than most to say so, and the handbook too.
func TestComposeVersion(t *testing.T) {
	const needed = "Compose 2.23.1 or later"
	for _, file := range []string{"docker/compose.yaml", "docker/compose.cluster.yaml"} {
		if text := read(t, file); strings.Contains(text, "content:") && (!strings.Contains(text, needed) || !strings.Contains(read(t, "docs/deployment.md"), needed)) {
			t.Errorf("%s has the content of a file: it or docs/deployment.md does not say %q", file, needed)
		}
	}
}

// TestNodesNeedMoreThanReach holds everything that is ready to use to have nodes that know each other.
func TestNodesNeedMoreThanReach(t *testing.T) {
	for _, folder := range []string{"docker", "docs", "packaging/helm", "packaging/kubernetes", "packaging/systemd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				if regexp.MustCompile(`STINT_CLUSTER_INSECURE|--cluster-insecure[ =](yes|true|1)|cluster-insecure = "?(yes|true)`).MatchString(line) && !strings.Contains(line, "default `no`") && !strings.HasSuffix(path, "configuration.md") {
					t.Errorf("%s: %s", path, line)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestProvisioning holds Prometheus to scrape every node with the token, and Grafana to find Prometheus and the
// dashboard.
func TestProvisioning(t *testing.T) {
	for file, must := range map[string][]string{
		"docker/prometheus/cluster.yml":                          {`"a:6380", "b:6380", "c:6380"`, "credentials_file: /run/stint-token", "stint.rules.yml"},
		"docker/compose.cluster.yaml":                            {"target: /run/stint-token", "--config.file=/etc/prometheus/cluster.yml", "/var/lib/grafana/dashboards/stint.json"},
		"docker/grafana/provisioning/datasources/prometheus.yml": {"http://prometheus:9090"},
		"docker/grafana/provisioning/dashboards/stint.yml":       {"path: /var/lib/grafana/dashboards"},
	} {
		text := read(t, file)
		var parsed any
		unmarshalLoosely(t, text, &parsed)
		for _, m := range must {
			if !strings.Contains(text, m) {
				t.Errorf("%s has no %s", file, m)
			}
		}
	}
}
