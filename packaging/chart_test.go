package packaging

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

const chartFolder = "packaging/helm/stint"

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(filepath.Join(root, chartFolder))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render is what helm install sends to Kubernetes: the text of each template that is not empty, by its file's name. A
// value that the chart does not have is an error.
func render(t *testing.T, release, values string) (files map[string]string, err error) {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: "default", IsInstall: true}
	all, err := chartutil.ToRenderValues(loadChart(t), given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(loadChart(t), all)
	files = map[string]string{}
	for name, text := range rendered {
		if text = strings.TrimSpace(text); text != "" {
			files[filepath.Base(name)] = text + "\n"
		}
	}
	return files, err
}

// objects renders the chart and reads the objects in it.
func objects(t *testing.T, release, values string) *kubernetes {
	t.Helper()
	files, err := render(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	k := newKubernetes(t)
	for name, text := range files {
		if name != "NOTES.txt" {
			k.add(text)
		}
	}
	return k
}

// variants are values whose objects have to hold together.
var variants = map[string]string{
	"default":        "",
	"alone":          "replicas: 1",
	"five":           "{replicas: 5, groups: 12, groupReplicas: 3}",
	"TLS":            "{tls: {enabled: true}}",
	"alone with TLS": "{replicas: 1, tls: {enabled: true, secret: web, clientCertificates: true}}",
	"users":          "{aclSecret: users, secret: passwords, nodeTLS: {secret: certificates}}",
	"all": `
args: [--max-memory=1gb, --log-format=json]
storage: {size: 1Gi, className: fast}
pod:
  nodeSelector: {disk: ssd}
  tolerations: [{key: limits, operator: Exists}]
  imagePullSecrets: [{name: registry}]
resources: {limits: {memory: 4Gi}}
topologySpread: {topology.kubernetes.io/zone: DoNotSchedule}
`,
	"certificates":       "{tls: {enabled: true}, certManager: {enabled: true}}",
	"other issuer":       "{tls: {enabled: true}, certManager: {enabled: true, issuer: {name: company, kind: ClusterIssuer}}}",
	"alone certificates": "{replicas: 1, tls: {enabled: true, secret: web}, certManager: {enabled: true}}",
	"monitor":            "{replicas: 1, secret: passwords, serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}}}",
	"policies":           `{policies: {api: {limits: ["TB user:{} 100 100/m"], overrides: {acme: ["TB user:{} 1000 1000/m"]}}}, image: {tag: 9.9.9}}`,
	"bare":               "{networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}, topologySpread: {kubernetes.io/hostname: null, topology.kubernetes.io/zone: null}}",
}

func TestChart(t *testing.T) {
	for name, values := range variants {
		t.Run(name, func(t *testing.T) { objects(t, "limits", values).check() })
	}
}

// TestChartLint runs helm lint. Its wish for an icon is left open.
func TestChartLint(t *testing.T) {
	for name, values := range variants {
		given, err := chartutil.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range lint.AllWithKubeVersion(filepath.Join(root, chartFolder), given, "default", nil).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
}

// TestChartVersion holds the chart to the version whose image it starts.
func TestChartVersion(t *testing.T) {
	about := loadChart(t).Metadata
	if about.Version != about.AppVersion || !strings.Contains(read(t, "packaging/kubernetes/stint.yaml"), "image: stint:"+about.AppVersion+"\n") {
		t.Errorf("chart %s starts version %s", about.Version, about.AppVersion)
	}
	if image := about.Annotations["artifacthub.io/images"]; !strings.Contains(image, "image: ghcr.io/stintdb/stint:"+about.AppVersion+"\n") {
		t.Errorf("Artifact Hub is told of another image than %s: %s", about.AppVersion, image)
	}
	for name, text := range about.Annotations {
		var parsed any
		unmarshalLoosely(t, text, &parsed)
		if !strings.HasPrefix(name, "artifacthub.io/") || parsed == nil {
			t.Errorf("%s is no annotation for Artifact Hub: %q", name, text)
		}
	}
}

// TestChartRefuses gives wrong values: the error has to name the value and the reason.
func TestChartRefuses(t *testing.T) {
	for values, reasons := range map[string][]string{
		"replicas: 2":                              {"replicas", "1, 3, 5"},
		"replicas: three":                          {"replicas", "1, 3, 5"},
		"replica: 3":                               {"replica", "additional"},
		"groups: 65":                               {"groups", "64"},
		"{replicas: 1, groups: 4}":                 {"groups", "1"},
		"groupReplicas: 3":                         {"groupReplicas", "0"},
		"{groups: 4, groupReplicas: 2}":            {"groupReplicas", "3, 5"},
		"{image: {tag: latest}}":                   {"tag"},
		"{image: {tag: 1.2}}":                      {"tag", "string"},
		"{image: {pullPolicy: Sometimes}}":         {"pullPolicy", "IfNotPresent"},
		"{policies: {api: [TB k 1 1/s]}}":          {"policies", "object"},
		"{policies: {api: {limit: []}}}":           {"policies", "limits"},
		"args: --max-memory=1gb":                   {"args", "array"},
		"args: [--max-memory, 1gb]":                {"args", "^--"},
		"secret: [stint]":                          {"secret", "string"},
		"secret: Stint_Password":                   {"secret", "pattern"},
		"{tls: {enable: true}}":                    {"tls", "enable", "additional"},
		`{tls: {enabled: "yes"}}`:                  {"enabled", "boolean"},
		"{certManager: {issuer: {kind: Issuer}}}":  {"issuer", "name"},
		"{storage: {size: 10}}":                    {"size", "string"},
		"{storage: {size: 10 GB}}":                 {"size", "pattern"},
		"{topologySpread: {zone: Always}}":         {"zone", "ScheduleAnyway"},
		"{pod: {hostNetwork: true}}":               {"pod", "hostNetwork"},
		"{networkPolicy: {clients: []}}":           {"clients", "minItems"},
		"{networkPolicy: {clients: [{}]}}":         {"clients", "minProperties"},
		"{serviceMonitor: {interval: 15}}":         {"interval", "string"},
		"{podDisruptionBudget: {minAvailable: 2}}": {"podDisruptionBudget", "minAvailable"},
	} {
		_, err := render(t, "stint", values)
		if err == nil {
			t.Errorf("%s is accepted", values)
			continue
		}
		if missing := slices.IndexFunc(reasons, func(r string) bool { return !strings.Contains(err.Error(), r) }); missing >= 0 {
			t.Errorf("%s: the error has no %q: %v", values, reasons[missing], err)
		}
	}
}
