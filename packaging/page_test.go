package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestKubernetesPage carries out the command lines of docs/kubernetes.md and of the chart's README.md as far as that is possible without Kubernetes.
func TestKubernetesPage(t *testing.T) {
	for _, line := range pageLines(t) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "helm install stint "+chartFolder):
			objects(t, "stint", valuesOf(t, words[4:])).check()
		case strings.HasPrefix(line, "kubectl apply -f "):
			if !slices.ContainsFunc(manifests, func(m manifest) bool { return words[3] == "packaging/kubernetes/"+m.file }) {
				t.Errorf("no test reads %s", words[3])
			}
		case strings.HasPrefix(line, "kubectl create secret generic "):
			checkSecret(t, words[4], words[5:])
		case strings.HasPrefix(line, "openssl "), strings.HasPrefix(line, "redis-cli "): // TestOpenSSL runs them
		case strings.HasPrefix(line, "docker build "):
			if _, err := os.Stat(filepath.Join(root, words[3])); err != nil || words[5] != "stint:"+loadChart(t).AppVersion() {
				t.Errorf("%s builds another image than that of the chart: %v", line, err)
			}
		default:
			t.Errorf("nothing here runs %s", line)
		}
	}
}

// pageLines are the command lines of docs/kubernetes.md, and those of the chart's README.md as a checkout has them.
func pageLines(t *testing.T) (lines []string) {
	t.Helper()
	published := strings.ReplaceAll(read(t, chartFolder+"/README.md"), "oci://ghcr.io/stintdb/charts/stint", chartFolder)
	for _, block := range shellBlock.FindAllStringSubmatch(read(t, "docs/kubernetes.md")+published, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(lines) < 5 {
		t.Fatalf("the page has only %d lines", len(lines))
	}
	return lines
}

// valuesOf are the values in arguments of helm install: --set name=value, or --values and a file, which the page shows.
func valuesOf(t *testing.T, args []string) string {
	t.Helper()
	values := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) || args[i] != "--set" && args[i] != "--values" {
			t.Fatalf("%q is neither --set nor --values, with its value", args[i:])
		}
		if args[i] == "--values" {
			shown := yamlBlock.FindStringSubmatch(read(t, "docs/kubernetes.md"))
			if shown == nil {
				t.Fatalf("docs/kubernetes.md does not show %s", args[i+1])
			}
			unmarshal(t, shown[1], &values)
			continue
		}
		if err := strvals.ParseInto(args[i+1], values); err != nil {
			t.Fatal(err)
		}
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkSecret holds the arguments of kubectl create secret to the keys that the manifest reads of that secret.
func checkSecret(t *testing.T, name string, args []string) {
	t.Helper()
	k := objects(t, "stint", "{tls: {enabled: true, clientCertificates: true}}")
	k.checkSettings()
	wanted, given := k.secretKeys(), map[string]bool{}
	for _, arg := range args {
		_, pair, _ := strings.Cut(arg, "=")
		key, _, _ := strings.Cut(pair, "=")
		given[key] = true
		if !wanted[name+"/"+key] {
			t.Errorf("nothing reads %s of the secret %s, but %v", key, name, wanted)
		}
	}
	for path := range wanted {
		if secret, key, _ := strings.Cut(path, "/"); secret == name && !given[key] {
			t.Errorf("the secret %s is made without %s", name, key)
		}
	}
}
