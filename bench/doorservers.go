package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// startDoors builds the program doors and starts it and Stint.
func startDoors(ctx context.Context, binary, rules string) (*doorServers, error) {
	program, err := filepath.Abs(filepath.Join(outDir, "doors"))
	if err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./doors").CombinedOutput(); err != nil {
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
	web, errWeb := freePort()
	rpc, errRPC := freePort()
	if err := errors.Join(errWeb, errRPC); err != nil {
		return err
	}
	web, rpc = "127.0.0.1:"+web, "127.0.0.1:"+rpc
	p, err := startProcess(ctx, "doors", nil, s.program, "serve", "-http", web, "-grpc", rpc)
	if err != nil {
		return err
	}
	s.instances[false] = &Instance{processes: []*process{p}}
	s.addresses[false] = map[string]string{"http": web, "grpc": rpc}
	return nil
}

func (s *doorServers) startStint(ctx context.Context, binary, rules string) error {
	web, errWeb := freePort()
	rpc, errRPC := freePort()
	if err := errors.Join(errWeb, errRPC); err != nil {
		return err
	}
	web, rpc = "127.0.0.1:"+web, "127.0.0.1:"+rpc
	inst, err := startStint(binary, "--http-listen", web, "--grpc-listen", rpc, "--rls-config", rules)(ctx, "stint-doors", nil)
	if err != nil {
		return err
	}
	s.instances[true] = inst
	s.addresses[true] = map[string]string{"http": web, "grpc": rpc}
	_, err = ask(inst.Addr, strings.Fields("RL.POLICY SET doors TB doors:{} 1000001 30/60s")...)
	return err
}

func (s *doorServers) stop() {
	for _, inst := range s.instances {
		inst.Stop()
	}
}
