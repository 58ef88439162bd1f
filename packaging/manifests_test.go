package packaging

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the manifests of packaging/kubernetes from the chart")

// manifest is a file of packaging/kubernetes.
type manifest struct {
	file, about string // its name and first lines
	values      string
	templates   []string // of the chart, which it is made of
}

var manifests = []manifest{
	{"cert-manager.yaml", `Certificates by cert-manager for the namespace default: for the nodes among each other, and for clients.`,
		"{tls: {enabled: true}, certManager: {enabled: true}}", []string{"certificates.yaml"}},
	{"servicemonitor.yaml", `Has the operator of Prometheus read the metrics of every node.`,
		"{serviceMonitor: {enabled: true}}", []string{"servicemonitor.yaml"}},
	{"stint.yaml", `Three nodes that decide as one. Make the image, the secrets and the certificates first, as docs/kubernetes.md shows.
Clients connect to the service stint, port 6379.`,
		"", []string{"services.yaml", "networkpolicy.yaml", "poddisruptionbudget.yaml", "statefulset.yaml"}},
}

// TestManifests compares packaging/kubernetes with the chart. With -update it writes the files.
func TestManifests(t *testing.T) {
	for _, manifest := range manifests {
		files, err := render(t, "stint", manifest.values)
		if err != nil {
			t.Fatal(err)
		}
		text := "# " + strings.ReplaceAll(manifest.about, "\n", "\n# ") + "\n# Made from packaging/helm/stint: go test -C packaging -run TestManifests -update .\n"
		for i, name := range manifest.templates {
			if files[name] == "" {
				t.Errorf("%s: the chart has no %s", manifest.file, name)
			}
			if i > 0 {
				text += "---\n"
			}
			text += files[name]
		}
		path := "packaging/kubernetes/" + manifest.file
		if *update {
			if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if read(t, path) != text {
			t.Errorf("%s is not that of the chart: go test -C packaging -run TestManifests -update . writes it", path)
		}
	}
}

// TestKubernetes checks the manifests as they are.
func TestKubernetes(t *testing.T) {
	k := newKubernetes(t)
	for _, manifest := range manifests {
		k.add(read(t, "packaging/kubernetes/"+manifest.file))
	}
	k.check()
}
