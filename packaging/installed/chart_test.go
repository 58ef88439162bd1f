//go:build installed

package installed

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

// TestInstalledChart holds the packed chart to pass helm lint, and to start the image of its release.
func TestInstalledChart(t *testing.T) {
	file := part(t, "stint-chart_*.tgz")
	folder := t.TempDir()
	output(t, "tar", "-C", folder, "-xzf", file)
	for _, message := range lint.AllWithKubeVersion(filepath.Join(folder, "stint"), nil, "default", nil).Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
	chart, err := loader.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: "limits", Namespace: "default", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSuffix(strings.Split(filepath.Base(file), "_")[1], ".tgz")
	if set := rendered["stint/templates/statefulset.yaml"]; !regexp.MustCompile("image: (ghcr.io/stintdb/)?stint:" + regexp.QuoteMeta(version) + "\n").MatchString(set) {
		t.Errorf("it does not start stint:%s: %s", version, set)
	}
}
