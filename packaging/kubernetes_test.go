package packaging

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
)

// kubernetes are objects for a cluster of Kubernetes that belong together.
type kubernetes struct {
	*testing.T
	set      apps.StatefulSet
	services map[string]core.Service
	admits   []networking.NetworkPolicy
	budgets  []policy.PodDisruptionBudget
	issuers  map[string]certmanager.IssuerSpec
	certs    []certmanager.Certificate
	monitors []monitoring.ServiceMonitor
	jobs     []batch.Job
	files    map[string]core.ConfigMap
	settings *given // of the second pod
}

func newKubernetes(t *testing.T) *kubernetes {
	return &kubernetes{T: t, services: map[string]core.Service{}, issuers: map[string]certmanager.IssuerSpec{}, files: map[string]core.ConfigMap{}}
}

// add reads the documents of a file strictly into Kubernetes' own types.
func (k *kubernetes) add(text string) {
	k.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		var kind struct{ Kind string }
		unmarshalLoosely(k.T, document, &kind)
		switch kind.Kind {
		case "StatefulSet":
			unmarshal(k.T, document, &k.set)
		case "Service":
			var service core.Service
			unmarshal(k.T, document, &service)
			k.services[service.Name] = service
		case "NetworkPolicy":
			k.admits = append(k.admits, networking.NetworkPolicy{})
			unmarshal(k.T, document, &k.admits[len(k.admits)-1])
		case "PodDisruptionBudget":
			k.budgets = append(k.budgets, policy.PodDisruptionBudget{})
			unmarshal(k.T, document, &k.budgets[len(k.budgets)-1])
		case "Issuer":
			var issuer certmanager.Issuer
			unmarshal(k.T, document, &issuer)
			k.issuers[issuer.Name] = issuer.Spec
		case "Certificate":
			k.certs = append(k.certs, certmanager.Certificate{})
			unmarshal(k.T, document, &k.certs[len(k.certs)-1])
		case "Job":
			k.jobs = append(k.jobs, batch.Job{})
			unmarshal(k.T, document, &k.jobs[len(k.jobs)-1])
		case "ConfigMap":
			var files core.ConfigMap
			unmarshal(k.T, document, &files)
			k.files[files.Name] = files
		case "ServiceMonitor":
			k.monitors = append(k.monitors, monitoring.ServiceMonitor{})
			unmarshal(k.T, document, &k.monitors[len(k.monitors)-1])
		default:
			k.Errorf("an object of kind %q, which no test reads", kind.Kind)
		}
	}
}

func (k *kubernetes) container() core.Container { return k.set.Spec.Template.Spec.Containers[0] }

// ports are the names of the ports on which the container listens.
func (k *kubernetes) ports() map[string]bool {
	names := map[string]bool{}
	for _, port := range k.container().Ports {
		names[port.Name] = true
	}
	return names
}

// selects reports whether a selector finds the pods of the set.
func (k *kubernetes) selects(selector map[string]string) bool {
	return finds(selector, k.set.Spec.Template.Labels)
}

// finds reports whether a selector finds a pod with these labels.
func finds(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// check holds the objects to each other, and the settings to the server.
func (k *kubernetes) check() {
	k.Helper()
	if len(k.set.Spec.Template.Spec.Containers) != 1 {
		k.Fatalf("%d containers", len(k.set.Spec.Template.Spec.Containers))
	}
	k.checkSettings()
	k.checkServices()
	k.checkPolicies()
	k.checkVolumes()
	k.checkPod()
	k.checkCertificates()
	k.checkMonitors()
	k.checkJobs()
}

func (k *kubernetes) checkSettings() {
	k.settings = newGiven(k.T)
	var args []string
	for _, arg := range k.container().Args {
		args = append(args, strings.ReplaceAll(arg, "$(POD)", k.set.Name+"-1"))
	}
	k.settings.flags(args)
	for _, variable := range k.container().Env {
		k.settings.environment(map[string]string{variable.Name: "some-value"})
	}
	k.settings.check()
	var peers []string
	for i := range *k.set.Spec.Replicas {
		peers = append(peers, fmt.Sprintf("%s-%d.%s:7379", k.set.Name, i, k.set.Spec.ServiceName))
	}
	if len(peers) == 1 {
		peers = nil
	}
	cfg := k.settings.cfg
	if !slices.Equal(cfg.ClusterPeers, peers) || cfg.BootstrapExpect != len(peers) || peers != nil && !slices.Contains(peers, cfg.ClusterAdvertise) {
		k.Errorf("peers %v of %d, here %s; want %v", cfg.ClusterPeers, cfg.BootstrapExpect, cfg.ClusterAdvertise, peers)
	}
	if cfg.RequirePass == "" && cfg.ACLFile == "" {
		k.Error("a server without a password")
	}
}

func (k *kubernetes) checkServices() {
	for name, service := range k.services {
		if !k.selects(service.Spec.Selector) {
			k.Errorf("service %s leads nowhere", name)
		}
		for _, port := range service.Spec.Ports {
			if !k.ports()[port.TargetPort.StrVal] {
				k.Errorf("port %s of service %s leads nowhere", port.Name, name)
			}
		}
	}
	if nodes, is := k.services[k.set.Spec.ServiceName]; !is || nodes.Spec.ClusterIP != core.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses {
		k.Errorf("the pods have no names by which they meet before they are ready: %+v", nodes.Spec)
	}
}

func (k *kubernetes) checkPolicies() {
	for _, admits := range k.admits {
		reached := map[string]bool{}
		for _, rule := range admits.Spec.Ingress {
			for _, port := range rule.Ports {
				reached[port.Port.StrVal] = len(rule.From) > 0
			}
		}
		if ports := k.ports(); !maps.Equal(reached, ports) || !k.selects(admits.Spec.PodSelector.MatchLabels) {
			k.Errorf("the network policy admits %v to the pods of %v, which listen on %v", reached, admits.Spec.PodSelector, ports)
		}
	}
	for _, budget := range k.budgets {
		if !k.selects(budget.Spec.Selector.MatchLabels) || budget.Spec.MaxUnavailable.IntValue() != 1 {
			k.Errorf("the disruption budget protects nothing: %+v", budget.Spec)
		}
	}
}

// checkVolumes holds every file in the settings to a volume that has it, and every volume to a use.
func (k *kubernetes) checkVolumes() {
	mounts := map[string]string{}
	for _, mount := range k.container().VolumeMounts {
		mounts[mount.Name] = mount.MountPath
	}
	volumes := map[string]bool{}
	for _, claim := range k.set.Spec.VolumeClaimTemplates {
		volumes[claim.Name] = true
	}
	for _, volume := range k.set.Spec.Template.Spec.Volumes {
		volumes[volume.Name] = true
		if volume.Secret.SecretName == "" || *volume.Secret.DefaultMode != 0o440 {
			k.Errorf("volume %s: %+v", volume.Name, volume.Secret)
		}
	}
	if have := slices.Collect(maps.Keys(mounts)); len(have) != len(volumes) || slices.ContainsFunc(have, func(name string) bool { return !volumes[name] }) {
		k.Errorf("mounts %v of volumes %v", mounts, volumes)
	}
	cfg, unused := k.settings.cfg, maps.Clone(mounts)
	for _, file := range []string{cfg.Dir + "/", cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA, cfg.ACLFile, cfg.ClusterTLSCert, cfg.ClusterTLSKey, cfg.ClusterTLSCA} {
		found := file == ""
		for name, path := range mounts {
			if strings.HasPrefix(file, path+"/") {
				found = true
				delete(unused, name)
			}
		}
		if !found {
			k.Errorf("%s is on no volume: %v", file, mounts)
		}
	}
	if len(unused) > 0 {
		k.Errorf("no setting uses the volumes %v", unused)
	}
}

// checkMonitors holds each monitor to one service, whose port is the port of --admin, and to the secret with its token.
func (k *kubernetes) checkMonitors() {
	for _, monitor := range k.monitors {
		endpoint, ports := monitor.Spec.Endpoints[0], []string{}
		for _, service := range k.services {
			for name, value := range monitor.Spec.Selector.MatchLabels {
				if service.Labels[name] != value {
					k.Errorf("the monitor does not select the service %s: %v", service.Name, service.Labels)
				}
			}
			for _, port := range service.Spec.Ports {
				if port.Name == endpoint.Port {
					ports = append(ports, port.TargetPort.StrVal)
				}
			}
		}
		_, admin, _ := strings.Cut(k.settings.cfg.Admin, ":")
		listens := slices.ContainsFunc(k.container().Ports, func(p core.ContainerPort) bool {
			return slices.Equal(ports, []string{p.Name}) && fmt.Sprint(p.ContainerPort) == admin
		})
		if !listens || endpoint.Path != "/metrics" || len(monitor.Spec.Selector.MatchLabels) == 0 {
			k.Errorf("the monitor reads %s of the ports %v, but --admin is %s", endpoint.Path, ports, k.settings.cfg.Admin)
		}
		token := endpoint.Authorization.Credentials
		if variable := k.variable("STINT_ADMIN_TOKEN"); token.Name != variable.Name || token.Key != variable.Key {
			k.Errorf("the monitor sends %s of %s, the pods have %v", token.Key, token.Name, variable)
		}
	}
}

// variable is the source of a variable of the container.
func (k *kubernetes) variable(name string) *core.SecretKeySelector {
	for _, variable := range k.container().Env {
		if variable.Name == name {
			return variable.ValueFrom.SecretKeyRef
		}
	}
	k.Fatalf("the container has no variable %s", name)
	return nil
}

// secretKeys are the keys of secrets that the container reads, each as secret/key.
func (k *kubernetes) secretKeys() map[string]bool {
	keys, cfg := map[string]bool{}, k.settings.cfg
	for _, variable := range k.container().Env {
		if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
			keys[variable.ValueFrom.SecretKeyRef.Name+"/"+variable.ValueFrom.SecretKeyRef.Key] = true
		}
	}
	for _, mount := range k.container().VolumeMounts {
		for _, volume := range k.set.Spec.Template.Spec.Volumes {
			for _, file := range []string{cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA, cfg.ACLFile, cfg.ClusterTLSCert, cfg.ClusterTLSKey, cfg.ClusterTLSCA} {
				if key, in := strings.CutPrefix(file, mount.MountPath+"/"); in && volume.Name == mount.Name {
					keys[volume.Secret.SecretName+"/"+key] = true
				}
			}
		}
	}
	return keys
}

func (k *kubernetes) checkPod() {
	stint, pod := k.container(), k.set.Spec.Template.Spec
	if _, tag, _ := strings.Cut(stint.Image, ":"); tag == "" || tag == "latest" || stint.ImagePullPolicy != core.PullIfNotPresent {
		k.Errorf("image %s, pulled %s: it may change under a running cluster", stint.Image, stint.ImagePullPolicy)
	}
	if startup, live := stint.StartupProbe, stint.LivenessProbe; startup.HTTPGet.Path != live.HTTPGet.Path || startup.PeriodSeconds*startup.FailureThreshold < 300 {
		k.Error("a node that reads a large state may be restarted")
	}
	if !k.ports()[stint.LivenessProbe.HTTPGet.Port.StrVal] || stint.ReadinessProbe.HTTPGet.Path != "/readyz" {
		k.Error("the probes ask elsewhere")
	}
	if !k.selects(k.set.Spec.Selector.MatchLabels) {
		k.Errorf("the set selects %v, not its pods", k.set.Spec.Selector)
	}
	for _, spread := range pod.TopologySpreadConstraints {
		if !k.selects(spread.LabelSelector.MatchLabels) {
			k.Errorf("%s spreads other pods: %v", spread.TopologyKey, spread.LabelSelector)
		}
	}
}
