package packaging

import (
	"fmt"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func unmarshalLoosely(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// TestKubernetes reads the manifests strictly into Kubernetes' own types, and the settings as the server does.
func TestKubernetes(t *testing.T) {
	var set apps.StatefulSet
	services := map[string]core.Service{}
	for text := range strings.SplitSeq(read(t, "packaging/kubernetes/stint.yaml"), "\n---\n") {
		var kind struct{ Kind string }
		unmarshalLoosely(t, text, &kind)
		switch kind.Kind {
		case "StatefulSet":
			unmarshal(t, text, &set)
		case "Service":
			var service core.Service
			unmarshal(t, text, &service)
			services[service.Name] = service
		case "PodDisruptionBudget":
			unmarshal(t, text, &policy.PodDisruptionBudget{})
		default:
			t.Errorf("an object of kind %q, which no test reads", kind.Kind)
		}
	}
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	stint := pod.Containers[0]
	settings := newGiven(t)
	var args []string
	for _, arg := range stint.Args {
		args = append(args, strings.ReplaceAll(arg, "$(POD)", set.Name+"-1"))
	}
	settings.flags(args)
	for _, variable := range stint.Env {
		settings.environment(map[string]string{variable.Name: "some-value"})
	}
	settings.check()

	ports := map[string]bool{}
	for _, port := range stint.Ports {
		ports[port.Name] = true
	}
	for name, service := range services {
		if service.Spec.Selector["app"] != set.Spec.Template.Labels["app"] || !ports[service.Spec.Ports[0].TargetPort.StrVal] {
			t.Errorf("service %s leads nowhere", name)
		}
	}
	if nodes, is := services[set.Spec.ServiceName]; !is || nodes.Spec.ClusterIP != core.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses {
		t.Errorf("the pods have no names by which they meet before they are ready: %+v", nodes.Spec)
	}
	var peers []string
	for i := range *set.Spec.Replicas {
		peers = append(peers, fmt.Sprintf("%s-%d.%s:7379", set.Name, i, set.Spec.ServiceName))
	}
	if want := strings.Join(peers, ","); strings.Join(settings.cfg.ClusterPeers, ",") != want {
		t.Errorf("peers %v, not %s", settings.cfg.ClusterPeers, want)
	}
	if !ports[stint.LivenessProbe.HTTPGet.Port.StrVal] || stint.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Error("the probes ask elsewhere")
	}
}
