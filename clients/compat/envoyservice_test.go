//go:build e2e

package compat

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// TestEnvoyService asks envoyproxy/ratelimit and Stint the same random questions, with the same rules.
func TestEnvoyService(t *testing.T) {
	neverCached(t)
	rules, err := filepath.Abs("testdata/envoy")
	if err != nil {
		t.Fatal(err)
	}
	asker := filepath.Join(t.TempDir(), "envoyservice")
	inFolder(t, "limiters/go", "go", "build", "-o", asker, "./envoyservice")
	program := testserver.Build(t, filepath.Join("..", ".."))
	for seed := range 3 {
		service := testserver.FreeAddresses(t, 1)[0]
		address := testserver.Start(t, program, "--admin", "", "--grpc-listen", service, "--rls-config", rules)
		out, err := exec.Command(asker, address, service, rules, fmt.Sprint(seed), "1000").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1000 requests") || strings.Contains(string(out), " 0 denied") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
