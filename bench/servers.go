package main

import (
	"context"
	"path/filepath"
)

// A Server is one side of the comparison: a way to start it, and its commands.
type Server struct {
	Name     string // short, part of cell names: "redis"
	Title    string // for people: "Redis"
	Commands []Command

	// Start starts an instance, or describes one that is
	// already running (-other).
	Start func(ctx context.Context, name string, env []string) (*Instance, error)

	// GoRuntime means that the server supports GODEBUG=gctrace=1.
	GoRuntime bool
}

// A Command is one row of every table printed.
type Command struct {
	Name     string // "CL.THROTTLE"
	Tag      string // three letters that keep the keys of commands apart
	Template string // see expand
	Answer   answer // the form of a good reply
	Memory   bool   // also measured for bytes per key
}

// Keyed reports whether the command takes a key, and so runs in every workload.
func (c Command) Keyed() bool { return c.Tag != "" }

const (
	throttleTemplate = "CL.THROTTLE {key} {burst} {count} {period}"
	scriptTemplate   = "EVALSHA {sha} 1 {key} {burst} {count} {period}"
)

// The table of servers. A new command is a line here; a new way of running Stint (a persistence mode, a cluster) is an
// entry with its Start, whose Instance may consist of several processes. The program appends the servers of -other.
func serverTable(stintBinary string) []Server {
	return []Server{
		{
			Name: "redis", Title: "Redis", Start: startRedis,
			Commands: []Command{
				{Name: "Lua GCRA", Tag: "lua", Template: scriptTemplate, Answer: answerThrottle, Memory: true},
				{Name: "PING", Template: "PING", Answer: answerPong},
			},
		},
		{
			Name: "stint", Title: "Stint", Start: startStint(stintBinary), GoRuntime: true,
			Commands: []Command{
				{Name: "CL.THROTTLE", Tag: "clt", Template: throttleTemplate, Answer: answerThrottle, Memory: true},
				{Name: "TB.ACQUIRE", Tag: "tba", Template: "TB.ACQUIRE {key} {capacity} {rate}", Answer: answerAcquire},
				{Name: "Lua GCRA", Tag: "slu", Template: scriptTemplate, Answer: answerThrottle},
				{Name: "PING", Template: "PING", Answer: answerPong},
			},
		},
	}
}

// startRedis runs redis-server without persistence: this comparison measures decisions, not writes to disk.
func startRedis(ctx context.Context, name string, env []string) (*Instance, error) {
	return startRedisWith(ctx, name, env, "--appendonly", "no")
}

func startRedisWith(ctx context.Context, name string, env []string, options ...string) (*Instance, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, name, env,
		append([]string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", ""}, options...)...)
	if err != nil {
		return nil, err
	}
	return withScript(&Instance{Addr: "127.0.0.1:" + port, processes: []*process{p}})
}

// withScript makes the script known to an instance.
func withScript(inst *Instance) (*Instance, error) {
	if err := loadGCRAScript(inst.Addr); err != nil {
		inst.Stop()
		return nil, err
	}
	return inst, nil
}

// startStint runs the Stint built from the checkout.
func startStint(binary string, options ...string) func(context.Context, string, []string) (*Instance, error) {
	return func(ctx context.Context, name string, env []string) (*Instance, error) {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		adminPort, err := freePort()
		if err != nil {
			return nil, err
		}
		path, err := filepath.Abs(binary)
		if err != nil {
			return nil, err
		}
		p, err := startProcess(ctx, name, env,
			append([]string{path, "server", "--listen", "127.0.0.1:" + port, "--admin", "127.0.0.1:" + adminPort}, options...)...)
		if err != nil {
			return nil, err
		}
		return withScript(&Instance{Addr: "127.0.0.1:" + port, processes: []*process{p}})
	}
}

// startAll starts an instance of every server, by name, or none; stop ends them.
func startAll(ctx context.Context, servers []Server) (instances map[string]*Instance, stop func(), err error) {
	instances = map[string]*Instance{}
	stop = func() {
		for _, inst := range instances {
			inst.Stop()
		}
	}
	for _, s := range servers {
		if instances[s.Name], err = s.Start(ctx, s.Name, nil); err != nil {
			delete(instances, s.Name)
			stop()
			return nil, nil, err
		}
	}
	return instances, stop, nil
}
