package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stintdb/stint/internal/child"
)

// startDoors builds the program doors and starts it and Stint.
func startDoors(ctx context.Context, binary, rules string) (*doorServers, error) {
	program, err := filepath.Abs(filepath.Join(outDir, "doors"))
	if err != nil {
		return nil, err
	}
	if out, err := child.Command(ctx, "go", "build", "-o", program, "./doors").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build ./doors: %w\n%s", err, out)
	}
	s := &doorServers{program: program, instances: map[bool]*Instance{}, addresses: map[bool](map[string]string){}}
	if err := errors.Join(s.startNothing(ctx), s.startStint(ctx, binary, rules)); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *doorServers) startNothing(ctx context.Context) error {
	p, err := startProcess(ctx, "doors", nil, s.program, "serve", "-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.instances[false] = &Instance{processes: []*process{p}}
	s.addresses[false] = p.log.listening()
	return nil
}

func (s *doorServers) startStint(ctx context.Context, binary, rules string) error {
	inst, err := startStint(binary, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)(ctx, "stint-doors", nil)
	if err != nil {
		return err
	}
	s.instances[true] = inst
	s.addresses[true] = inst.processes[0].log.listening()
	_, err = ask(inst.Addr, strings.Fields("RL.POLICY SET doors TB doors:{} 1000001 30/60s")...)
	return err
}

func (s *doorServers) stop() {
	for _, inst := range s.instances {
		inst.Stop()
	}
}
