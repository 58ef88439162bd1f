package packaging

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"github.com/stintdb/stint/internal/testserver"
)

// TestSidecar carries out the commands of packaging/kubernetes/sidecar.yaml: the sidecar starts, its probes find it, and
// it decides by the socket in the volume that it shares with the application.
func TestSidecar(t *testing.T) {
	var app apps.Deployment
	unmarshal(t, read(t, "packaging/kubernetes/sidecar.yaml"), &app)
	pod := app.Spec.Template.Spec
	sidecar, password, admin := pod.InitContainers[0], filepath.Join(t.TempDir(), "password"), testserver.ReserveAddress(t)
	if sidecar.RestartPolicy == nil || *sidecar.RestartPolicy != core.ContainerRestartPolicyAlways || sidecar.Image != "stint:"+loadChart(t).AppVersion() {
		t.Errorf("the application would wait for the end of %s, whose image is %s", sidecar.Name, sidecar.Image)
	}
	shared, folder := pod.Containers[0].VolumeMounts[0], t.TempDir()
	if shared != sidecar.VolumeMounts[0] || pod.Volumes[0].Name != shared.Name || pod.Volumes[0].EmptyDir == nil || pod.Volumes[1].Name != sidecar.VolumeMounts[1].Name {
		t.Errorf("the mount %+v is not shared, or has no volume", shared)
	}
	if sidecar.Env[0] != (core.EnvVar{Name: "STINT_ADMIN", Value: "127.0.0.1:6380"}) { // which both commands read
		t.Errorf("environment %+v", sidecar.Env)
	}
	program := buildServer(t)
	if err := os.WriteFile(password, []byte("long and random\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := testserver.NewProcess(t, program, "server", "--listen=127.0.0.1:0", "--admin=", "--requirepass=long and random")
	home.Start(t)
	args := slices.Clone(sidecar.Args)
	for i := range args {
		args[i] = strings.NewReplacer("stint:6379", home.AwaitReady(t)[0], shared.MountPath, folder, "/secrets/password", password).Replace(args[i])
	}
	beside := testserver.NewProcess(t, program, args...)
	beside.Env = []string{"STINT_ADMIN=" + admin}
	beside.Start(t)
	beside.AwaitReady(t)
	for _, probe := range []*core.Probe{sidecar.StartupProbe, sidecar.LivenessProbe} {
		words := probe.Exec.Command
		health := testserver.Command(t, program, words[1:]...)
		health.Env = beside.Env
		if out, err := health.CombinedOutput(); err != nil || words[0] != "stint" {
			t.Errorf("%q: %v, %s", words, err, out)
		}
	}
	conn, err := net.Dial("unix", filepath.Join(folder, "stint.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "TB.ACQUIRE k 10 1/d\r\nQUIT\r\n")
	if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "*5\r\n:1\r\n:10\r\n:9\r\n") {
		t.Errorf("%q, %v", got, err)
	}
	if err := beside.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
