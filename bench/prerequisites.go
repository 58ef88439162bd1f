package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stintdb/stint/internal/testprocess"
)

// The programs that must be installed, and the Debian packages they are in.
var prerequisites = []struct{ program, debianPackage string }{
	{"redis-server", "redis-server"},
	{"redis-benchmark", "redis-tools"},
}

// checkPrerequisites names everything that is missing at once.
func checkPrerequisites() error {
	var missing, packages []string
	for _, p := range prerequisites {
		if _, err := exec.LookPath(p.program); err != nil {
			missing = append(missing, p.program)
			packages = append(packages, p.debianPackage)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not installed: %s; on Debian and Ubuntu: apt-get install %s",
		strings.Join(missing, ", "), strings.Join(packages, " "))
}

// moduleRoot is the root of the checkout. The program must be started in its folder, as `go run -C bench .` does.
func moduleRoot() (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	for _, file := range []string{"go.mod", "bench/go.mod"} {
		if readText(filepath.Join(root, file)) == "" {
			return "", errors.New("run this in the folder bench of a checkout: go run -C bench .")
		}
	}
	return root, nil
}

// buildStint builds the server of the checkout.
func buildStint(ctx context.Context, root, binary string) error {
	target, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := testprocess.Command(ctx, "go", "build", "-o", target, "./cmd/stint")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/stint: %w\n%s", err, out)
	}
	return nil
}
