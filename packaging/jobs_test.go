package packaging

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	networking "k8s.io/api/networking/v1"

	"github.com/stintdb/stint/internal/testserver"
)

// checkJobs holds each Job to the secret with the token, to the image of the server, and to labels by which the network
// policies let it in and no service leads to it.
func (k *kubernetes) checkJobs() {
	for _, job := range k.jobs {
		pod := job.Spec.Template
		stint := pod.Spec.Containers[0]
		token, want := stint.Env[0].ValueFrom.SecretKeyRef, k.variable("STINT_ADMIN_TOKEN")
		if stint.Env[0].Name != "STINT_ADMIN_TOKEN" || token.Name != want.Name || token.Key != want.Key {
			k.Errorf("job %s sends %v", job.Name, stint.Env)
		}
		if stint.Image != k.container().Image || finds(k.set.Spec.Selector.MatchLabels, pod.Labels) {
			k.Errorf("job %s has image %s and labels %v", job.Name, stint.Image, pod.Labels)
		}
		letsIn := func(rule networking.NetworkPolicyIngressRule) bool {
			return rule.Ports[0].Port.StrVal == "admin" && slices.ContainsFunc(rule.From, func(from networking.NetworkPolicyPeer) bool {
				return from.PodSelector != nil && maps.Equal(from.PodSelector.MatchLabels, pod.Labels)
			})
		}
		for _, admits := range k.admits {
			if !slices.ContainsFunc(admits.Spec.Ingress, letsIn) {
				k.Errorf("the network policy keeps job %s out", job.Name)
			}
		}
		k.fileOf(&job)
	}
}

// fileOf is the text of the file that is the last argument of a Job, in the volume of its ConfigMap.
func (k *kubernetes) fileOf(job *batch.Job) (text string) {
	pod := job.Spec.Template.Spec
	args, mount, volume := pod.Containers[0].Args, pod.Containers[0].VolumeMounts[0], pod.Volumes[0]
	name, inVolume := strings.CutPrefix(args[len(args)-1], mount.MountPath+"/")
	text, known := k.files[volume.ConfigMap.Name].Data[name]
	if !inVolume || !known || mount.Name != volume.Name {
		k.Fatalf("job %s: %s is no file of %s", job.Name, args[len(args)-1], volume.ConfigMap.Name)
	}
	return text
}

// TestPoliciesJob runs the Job of the policies beside a server: it sets the policies of the values, removes others, and
// changes nothing if a limit has a mistake.
func TestPoliciesJob(t *testing.T) {
	program := testserver.Build(t, root)
	const token = "some-value-that-is-long-and-random"
	server := testserver.StartServer(t, program, "--admin", "127.0.0.1:0", "--admin-token", token)
	run := func(values string) (output string, err error) {
		k := objects(t, "limits", values)
		job := &k.jobs[0]
		file := filepath.Join(t.TempDir(), "policies.yaml")
		if err := os.WriteFile(file, []byte(k.fileOf(job)), 0o600); err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(job.Spec.Template.Spec.Containers[0].Args)
		args[len(args)-1] = file
		for i, arg := range args {
			args[i] = strings.Replace(arg, "--admin="+k.set.Spec.ServiceName+":6380", "--admin="+server.Admin(t), 1)
		}
		command := testserver.Command(t, program, args...)
		command.Env = append(os.Environ(), "STINT_ADMIN_TOKEN="+token)
		bytes, err := command.CombinedOutput()
		return string(bytes), err
	}
	for _, step := range []struct{ values, has, hasNot string }{
		{`{policies: {old: {limits: ["TB old:{} 5 5/m"]}}}`, "old", "api"},
		{`{policies: {api: {limits: ["TB user:{} 100 100/m"], overrides: {acme: ["TB user:{} 1000 1000/m"]}}}}`, "api", "old"},
		{`{policies: {api: {limits: ["TB user:{} 100 100/m"], overrides: {acme: ["TB user:{} 1000 1000/m"]}}}}`, "api", "old"},
	} {
		if output, err := run(step.values); err != nil || !server.Says("RL.POLICY LIST", step.has) || server.Says("RL.POLICY LIST", step.hasNot) {
			t.Errorf("%s: %v\n%s", step.values, err, output)
		}
	}
	if output, err := run(`{policies: {wrong: {limits: ["TB user:{} many 100/m"]}}}`); err == nil || !strings.Contains(output, "wrong") || !server.Says("RL.POLICY LIST", "api") {
		t.Errorf("a limit with a mistake: %v\n%s", err, output)
	}
}
