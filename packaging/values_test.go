package packaging

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// effects has, for each value of the chart, values with it and a text that they bring into the objects.
var effects = map[string]struct{ values, text string }{
	"replicas":                    {"replicas: 5", "--bootstrap-expect=5\n"},
	"groups":                      {"{replicas: 5, groups: 12}", "--bootstrap-expect=5\n            - --groups=12\n"},
	"groupReplicas":               {"{replicas: 5, groups: 12, groupReplicas: 3}", "--groups=12\n            - --cluster-replicas=3\n"},
	"image.repository":            {"{image: {repository: registry.example.com/stint}}", "image: registry.example.com/stint:"},
	"image.tag":                   {"{image: {tag: 9.9.9}}", "image: stint:9.9.9\n"},
	"image.pullPolicy":            {"{image: {pullPolicy: Always}}", "imagePullPolicy: Always\n"},
	"args":                        {"args: [--max-memory=1gb]", "ca.crt\n            - \"--max-memory=1gb\"\n"},
	"policies":                    {`{policies: {api: {limits: ["TB user:{} 100 100/m"]}}}`, "    policies:\n      api:\n        limits:\n        - TB user:{} 100 100/m\n"},
	"secret":                      {"secret: passwords", "secretKeyRef: { name: passwords, key: password }"},
	"aclSecret":                   {"aclSecret: users", "secretName: users,"},
	"tls.enabled":                 {"{tls: {enabled: true}}", "--tls-listen=0.0.0.0:6379\n"},
	"tls.secret":                  {"{tls: {enabled: true, secret: web}}", "secretName: web,"},
	"tls.clientCertificates":      {"{tls: {enabled: true, clientCertificates: true}}", "--tls-client-ca=/tls/clients/ca.crt\n"},
	"nodeTLS.secret":              {"{nodeTLS: {secret: peers}}", "secretName: peers,"},
	"certManager.enabled":         {"{certManager: {enabled: true}}", "kind: Issuer\n"},
	"certManager.issuer.name":     {"{tls: {enabled: true}, certManager: {enabled: true, issuer: {name: company}}}", "    name: company\n"},
	"certManager.issuer.kind":     {"{tls: {enabled: true}, certManager: {enabled: true, issuer: {name: company, kind: ClusterIssuer}}}", "    kind: ClusterIssuer\n"},
	"certManager.issuer.group":    {"{tls: {enabled: true}, certManager: {enabled: true, issuer: {name: company, group: example.com}}}", "    group: example.com\n"},
	"resources":                   {"{resources: {limits: {memory: 7Gi}}}", "memory: 7Gi\n"},
	"storage.size":                {"{storage: {size: 7Gi}}", "storage: 7Gi "},
	"storage.className":           {"{storage: {className: fast}}", "storageClassName: fast\n"},
	"topologySpread":              {"{topologySpread: {rack: DoNotSchedule}}", "topologyKey: rack, whenUnsatisfiable: DoNotSchedule,"},
	"pod.nodeSelector":            {"{pod: {nodeSelector: {disk: ssd}}}", "      nodeSelector:\n        disk: ssd\n"},
	"pod.tolerations":             {"{pod: {tolerations: [{key: limits}]}}", "      tolerations:\n      - key: limits\n"},
	"pod.affinity":                {"{pod: {affinity: {podAntiAffinity: {}}}}", "      affinity:\n        podAntiAffinity"},
	"pod.priorityClassName":       {"{pod: {priorityClassName: high}}", "      priorityClassName: high\n"},
	"pod.imagePullSecrets":        {"{pod: {imagePullSecrets: [{name: registry}]}}", "      imagePullSecrets:\n      - name: registry\n"},
	"pod.serviceAccountName":      {"{pod: {serviceAccountName: limits}}", "      serviceAccountName: limits\n"},
	"podDisruptionBudget.enabled": {"", "kind: PodDisruptionBudget\n"},
	"networkPolicy.enabled":       {"", "kind: NetworkPolicy\n"},
	"networkPolicy.clients":       {"{networkPolicy: {clients: [{podSelector: {}}]}}", "- ports: [{ port: redis }]\n      from:\n        - podSelector: {}\n"},
	"networkPolicy.metrics":       {"{networkPolicy: {metrics: [{namespaceSelector: {}}]}}", "- ports: [{ port: admin }]\n      from:\n        - namespaceSelector: {}\n"},
	"serviceMonitor.enabled":      {"{serviceMonitor: {enabled: true}}", "kind: ServiceMonitor\n"},
	"serviceMonitor.interval":     {"{serviceMonitor: {enabled: true, interval: 7s}}", "interval: 7s\n"},
	"serviceMonitor.labels":       {"{serviceMonitor: {enabled: true, labels: {release: prometheus}}}", "    release: prometheus\n"},
}

// without has the values that take away the text of values that are on by default.
var without = map[string]string{
	"podDisruptionBudget.enabled": "{podDisruptionBudget: {enabled: false}}",
	"networkPolicy.enabled":       "{networkPolicy: {enabled: false}}",
}

// TestValues looks for the effect of every value of the schema.
func TestValues(t *testing.T) {
	everything := func(values string) (text string) {
		files, err := render(t, "stint", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			text += files[name]
		}
		return text
	}
	for path, effect := range effects {
		objects(t, "stint", effect.values) // strictly
		if !strings.Contains(everything(effect.values), effect.text) || strings.Contains(everything(without[path]), effect.text) {
			t.Errorf("%s: %q does not come from %s", path, effect.text, effect.values)
		}
	}
	var schema property
	if err := json.Unmarshal(loadChart(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if have, want := slices.Sorted(maps.Keys(effects)), schema.leaves(""); !slices.Equal(have, want) {
		t.Errorf("effects of %v; the schema has %v", have, want)
	}
}

// property is a part of a JSON schema.
type property struct{ Properties map[string]property }

// leaves are the paths of the values without properties, sorted.
func (p property) leaves(path string) (paths []string) {
	if len(p.Properties) == 0 {
		return []string{path}
	}
	for name, inner := range p.Properties {
		if name != "global" { // which every chart accepts
			paths = append(paths, inner.leaves(strings.TrimPrefix(path+"."+name, "."))...)
		}
	}
	slices.Sort(paths)
	return paths
}
