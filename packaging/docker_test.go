package packaging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// compose is the part of a compose file that the tests check.
type compose struct {
	Services map[string]struct {
		Image       string            `json:"image"`
		Environment map[string]string `json:"environment"`
		Command     []string          `json:"command"`
		Volumes     []string          `json:"volumes"`
		Build       struct{ Context, Dockerfile string }
	} `json:"services"`
	Volumes map[string]any `json:"volumes"`
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
	for _, must := range []string{"CGO_ENABLED=0", "\nFROM scratch\n", "\nUSER 65532:65532\n", "./cmd/stint", `ENTRYPOINT ["/stint"]`, "-X main.version="} {
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
			// Compose knows many fields; those of other names are not for this test.
			unmarshalLoosely(t, read(t, file), &c)
			nodes := 0
			for name, service := range c.Services {
				for _, volume := range service.Volumes {
					source, _, _ := strings.Cut(volume, ":")
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
				if settings.cfg.ClusterListen != "" && (settings.cfg.NodeID != name || !strings.Contains(service.Environment["STINT_CLUSTER_PEERS"], name+":7379")) {
					t.Errorf("%s: is node %q among %s", name, settings.cfg.NodeID, service.Environment["STINT_CLUSTER_PEERS"])
				}
			}
			if want := map[string]int{"docker/compose.yaml": 1, "docker/compose.cluster.yaml": 3}[file]; nodes != want {
				t.Errorf("%d nodes, not %d", nodes, want)
			}
		})
	}
}

// TestProvisioning holds Prometheus to scrape every node with the token, and Grafana to find Prometheus and the dashboard.
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
