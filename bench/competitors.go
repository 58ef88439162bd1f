package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stintdb/stint/internal/testprocess"
)

// The commands of the cheapest limiter that one could write oneself: no decision has fewer reads, writes and
// arithmetic.
var (
	setCommand  = Command{Name: "SET", Tag: "set", Template: "SET {key} 1", Answer: answerOK, FirstWorkload: true}
	incrCommand = Command{Name: "INCR", Tag: "inc", Template: "INCR {key}", Answer: answerCount, FirstWorkload: true}
)

const valkeyProgram = "valkey-server"

// competitors returns the programs to compare with that are installed, and the names of those that are missing. They are
// a current Valkey, which Debian does not have, and redis-cell built from a checkout of its repository, because the
// newest version on crates.io is 0.2.2 of 2018.
func (s Settings) competitors(ctx context.Context) (all []Server, missing []string, err error) {
	if _, err := exec.LookPath(valkeyProgram); err != nil {
		missing = append(missing, valkeyProgram)
	} else {
		all = append(all, Server{Name: "valkey", Title: "Valkey", Start: startValkey, Commands: []Command{setCommand, incrCommand}})
	}
	if s.RedisCell == "" {
		return all, append(missing, "-redis-cell"), nil
	}
	module, version, err := buildRedisCell(ctx, s.RedisCell)
	start := func(ctx context.Context, name string, env []string) (*Instance, error) {
		return startRedisWith(ctx, name, env, "--appendonly", "no", "--loadmodule", module)
	}
	return append(all, Server{Name: "redis-cell", Title: "redis-cell " + version, Start: start,
		Commands: []Command{{Name: "CL.THROTTLE", Tag: "cel", Template: throttleTemplate, Answer: answerThrottle, Memory: true}}}), missing, err
}

// pickAll applies -only to all servers. A page without the competitors is not published.
func (s Settings) pickAll(ctx context.Context, stintBinary string) ([]Server, error) {
	others, missing, err := s.competitors(ctx)
	if err != nil {
		return nil, err
	}
	picked, err := s.pick(append(serverTable(stintBinary), others...))
	if len(missing) == 0 || err == nil && !s.allServers() {
		return picked, err
	}
	incomplete := fmt.Errorf("not measured without %s; see bench/README.md", strings.Join(missing, " and "))
	if s.Docs || err != nil {
		return nil, errors.Join(err, incomplete)
	}
	fmt.Fprintln(os.Stderr, incomplete)
	return picked, nil
}

func startValkey(ctx context.Context, name string, env []string) (*Instance, error) {
	return startLikeRedis(ctx, valkeyProgram, name, env, "--appendonly", "no")
}

var crateVersion = regexp.MustCompile(`(?m)^version = "([^"]+)"$`)

// buildRedisCell builds the module of a checkout of redis-cell.
func buildRedisCell(ctx context.Context, checkout string) (module, version string, err error) {
	found := crateVersion.FindStringSubmatch(readText(filepath.Join(checkout, "Cargo.toml")))
	if found == nil {
		return "", "", fmt.Errorf("-redis-cell: %s has no Cargo.toml with a version", checkout)
	}
	cmd := testprocess.Command(ctx, "cargo", "build", "--release")
	cmd.Dir = checkout
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("-redis-cell: cargo build: %w\n%s", err, out)
	}
	module, err = filepath.Abs(filepath.Join(checkout, "target", "release", "libredis_cell.so"))
	return module, found[1], err
}
