package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
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
	Prepare  string // a template sent once for each workload before the load; empty for none
	Answer   answer // the form of a good reply
	Memory   bool   // also measured for bytes per key

	FirstWorkload bool // it has no limit, so the others would be the same

	// FullKeys means that the load is on so many keys, all at their limits before it, so that each request is denied.
	FullKeys int
}

// keys is the number of keys of the load.
func (c Command) keys() int { return cmp.Or(c.FullKeys, randomKeys) }

// load is the arguments of redis-benchmark, the last of which are the command.
func (c Command) load(key string, limit Limit) []string {
	return append([]string{"-r", strconv.Itoa(c.keys())}, expand(c.Template, key, limit)...)
}

// Keyed reports whether the command takes a key, and so runs in every workload.
func (c Command) Keyed() bool { return c.Tag != "" }

const throttleTemplate = "CL.THROTTLE {key} {burst} {count} {period}"

// The table of servers. A new command is a line here; a new way of running Stint (a persistence mode, a cluster) is an
// entry with its Start, whose Instance may consist of several processes. The program appends the servers of -other.
func serverTable(stintBinary string) []Server {
	gcraOnRedis, gcraOnStint := scripts[0].evalsha(), scripts[0].evalsha()
	gcraOnRedis.Memory, gcraOnStint.Tag = true, "slu"
	return []Server{
		{
			Name: "redis", Title: "Redis", Start: startRedis,
			Commands: []Command{
				gcraOnRedis,
				setCommand,
				{Name: "PING", Template: "PING", Answer: answerPong},
			},
		},
		{
			Name: "stint", Title: "Stint", Start: startStint(stintBinary), GoRuntime: true,
			Commands: []Command{
				{Name: "CL.THROTTLE", Tag: "clt", Template: throttleTemplate, Answer: answerThrottle, Memory: true},
				{Name: "TB.ACQUIRE", Tag: "tba", Template: "TB.ACQUIRE {key} {capacity} {rate}", Answer: answerAcquire},
				{Name: "RL.CHECK of 2 limits", Tag: "chk", Template: "RL.CHECK two-{burst} {key}", Answer: answerCheck,
					Prepare: "RL.POLICY SET two-{burst} TB one:{} {capacity} {rate} TB two:{} {capacity} {rate}"},
				gcraOnStint,
				{Name: "PING", Template: "PING", Answer: answerPong},
			},
		},
		{
			Name: "stint-one-loop", Title: "Stint --loops 1", Start: startStint(stintBinary, "--loops", "1"), GoRuntime: true,
			Commands: []Command{{Name: "CL.THROTTLE", Tag: "clo", Template: throttleTemplate, Answer: answerThrottle}},
		},
		{
			Name: "stint-two-loops", Title: "Stint --loops 2", Start: startStint(stintBinary, "--loops", "2"), GoRuntime: true,
			Commands: []Command{{Name: "CL.THROTTLE", Tag: "cl2", Template: throttleTemplate, Answer: answerThrottle}},
		},
	}
}

// besideCluster is Redis with the script and one Stint with CL.THROTTLE, to compare nodes with.
func besideCluster(stintBinary string) []Server {
	all := serverTable(stintBinary)[:2]
	for i := range all {
		all[i].Commands = all[i].Commands[:1]
	}
	return all
}

// startRedis runs redis-server without persistence: this comparison measures decisions, not writes to disk.
func startRedis(ctx context.Context, name string, env []string) (*Instance, error) {
	return startRedisWith(ctx, name, env, "--appendonly", "no")
}

func startRedisWith(ctx context.Context, name string, env []string, options ...string) (*Instance, error) {
	return startLikeRedis(ctx, "redis-server", name, env, options...)
}

// startLikeRedis runs a program with the options of Redis.
func startLikeRedis(ctx context.Context, program, name string, env []string, options ...string) (*Instance, error) {
	port, err := reservePort()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, name, env,
		append([]string{program, "--bind", "127.0.0.1", "--port", port, "--save", ""}, options...)...)
	if err != nil {
		return nil, err
	}
	return withScripts(&Instance{Addr: "127.0.0.1:" + port, processes: []*process{p}})
}

// withScripts makes the scripts known to an instance.
func withScripts(inst *Instance) (*Instance, error) {
	if err := loadScripts(inst.Addr); err != nil {
		inst.Stop()
		return nil, err
	}
	return inst, nil
}

// startStint runs the Stint built from the checkout.
func startStint(binary string, options ...string) func(context.Context, string, []string) (*Instance, error) {
	return func(ctx context.Context, name string, env []string) (*Instance, error) {
		path, err := filepath.Abs(binary)
		if err != nil {
			return nil, err
		}
		p, err := startProcess(ctx, name, env,
			append([]string{path, "server", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, options...)...)
		if err != nil {
			return nil, err
		}
		return withScripts(&Instance{Addr: p.log.listening()[""], processes: []*process{p}})
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
		if err := prepare(instances[s.Name].Addr, s.Commands); err != nil {
			stop()
			return nil, nil, err
		}
	}
	return instances, stop, nil
}

// prepare sends what the commands need before each workload.
func prepare(addr string, commands []Command) error {
	for _, c := range commands {
		for _, w := range workloads {
			if c.Prepare == "" {
				continue
			}
			if _, err := ask(addr, expand(c.Prepare, "", w.Limit)...); err != nil {
				return fmt.Errorf("%s: %w", c.Prepare, err)
			}
		}
	}
	return nil
}
