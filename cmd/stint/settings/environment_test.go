package settings

import "testing"

// Kubernetes sets these in every pod next to a service called stint.
func TestKubernetesVariablesAreIgnored(t *testing.T) {
	environ := []string{
		"STINT_SERVICE_HOST=10.0.0.7", "STINT_SERVICE_PORT=6379", "STINT_SERVICE_PORT_RESP=6379", "STINT_PORT=tcp://10.0.0.7:6379",
		"STINT_PORT_6379_TCP=tcp://10.0.0.7:6379", "STINT_PORT_6379_TCP_PROTO=tcp", "STINT_PORT_6379_TCP_PORT=6379",
		"STINT_PORT_6379_TCP_ADDR=10.0.0.7", "STINT_HEADLESS_SERVICE_HOST=10.0.0.8", "STINT_HEADLESS_PORT=tcp://10.0.0.8:6379",
	}
	if _, err := load(nil, environ, files{}.read); err != nil {
		t.Error(err)
	}
}
