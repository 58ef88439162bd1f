package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

const benchUsage = `Usage: stint bench [flags] [COMMAND ARGUMENT...]

Sends a command repeatedly and measures the latency of the replies. Without a
COMMAND it is TB.ACQUIRE bench:{key} 100 100/s; {key} stands for a random number
below --keys, a new one for each request. The tokens are really taken: use keys
that no application uses.

  --server ADDRESS    HOST:PORT or unix:/path [default 127.0.0.1:6379]
  --user NAME         user to log in as [default default]
  --password TEXT     better set REDISCLI_AUTH, which other users of the machine
                      cannot see
  --connections N     1 to 10000 [default 50]
  --pipeline N        requests sent together on a connection, 1 to 1000
                      [default 1]
  --keys N            [default 100000]
  --duration DURATION 100ms to 1h [default 10s]
  --rate N            requests a second, over all connections, each due at a
                      fixed time; 0 is as many as possible [default 0]
  --json              print one JSON object

With --rate, latency counts from the time at which a request was due: if the
server stalls, all requests that were due during the stall count as late.
Without it, each request waits for the reply to the one before, so a stall
counts once, for any number of requests that it delayed. Such latencies are
those of the server at full load, not those of its users.

Exit code 1: the server can't be reached, hung up, or answered with an error.
`

// benchPlan describes a run.
type benchPlan struct {
	Server      string   `json:"server"`
	Command     []string `json:"command"`
	Connections int      `json:"connections"`
	Pipeline    int      `json:"pipeline"`
	Keys        int64    `json:"keys"`
	Rate        float64  `json:"rate"` // requests a second; 0 is as many as possible

	duration       time.Duration
	user, password string
	dial           func(ctx context.Context) (net.Conn, error)
	alarm          func() alarm // of a connection
	line           *progressLine
}

// bench is the command `stint bench`.
func (p *process) bench(ctx context.Context, args []string) error {
	plan, asJSON, err := p.readBench(args)
	if err != nil {
		return err
	}
	network, address := "tcp", plan.Server
	if path, is := strings.CutPrefix(address, "unix:"); is {
		network, address = "unix", path
	}
	plan.dial = func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: benchTimeout}).DialContext(ctx, network, address)
	}
	plan.line = newProgressLine(p.stderr)
	outcome, err := plan.run(ctx)
	if err != nil {
		return err
	}
	if err := outcome.print(p.stdout, asJSON); err != nil {
		return err
	}
	if outcome.Errors > 0 {
		return fmt.Errorf("%d of %d requests were answered with an error, the first: %s", outcome.Errors, outcome.Requests, outcome.FirstError)
	}
	return nil
}

// readBench reads the flags and the command.
func (p *process) readBench(args []string) (plan *benchPlan, asJSON bool, err error) {
	plan = &benchPlan{alarm: newAlarm}
	set := newFlags("bench")
	set.SetInterspersed(false) // flags after the command belong to the command
	set.StringVar(&plan.Server, "server", "127.0.0.1:6379", "")
	set.StringVar(&plan.user, "user", "default", "")
	set.StringVar(&plan.password, "password", p.variable("REDISCLI_AUTH"), "")
	set.IntVar(&plan.Connections, "connections", 50, "")
	set.IntVar(&plan.Pipeline, "pipeline", 1, "")
	set.Int64Var(&plan.Keys, "keys", 100_000, "")
	set.DurationVar(&plan.duration, "duration", 10*time.Second, "")
	set.Float64Var(&plan.Rate, "rate", 0, "")
	set.BoolVar(&asJSON, "json", false, "")
	if err := parseFlags(set, args); err != nil {
		return nil, false, err
	}
	plan.Command = set.Args()
	if len(plan.Command) == 0 {
		plan.Command = []string{"TB.ACQUIRE", "bench:{key}", "100", "100/s"}
	}
	return plan, asJSON, plan.check()
}

func (plan *benchPlan) check() error {
	_, _, err := net.SplitHostPort(plan.Server)
	switch {
	case err != nil && !strings.HasPrefix(plan.Server, "unix:"):
		return usagef("--server: must be HOST:PORT or unix:/path, got '%s'", plan.Server)
	case plan.Connections < 1 || plan.Connections > 10_000:
		return usagef("--connections: must be 1 to 10000, got %d", plan.Connections)
	case plan.Pipeline < 1 || plan.Pipeline > 1000:
		return usagef("--pipeline: must be 1 to 1000, got %d", plan.Pipeline)
	case plan.Keys < 1:
		return usagef("--keys: must be at least 1, got %d", plan.Keys)
	case plan.duration < 100*time.Millisecond || plan.duration > time.Hour:
		return usagef("--duration: must be 100ms to 1h, got %s", plan.duration)
	case !(plan.Rate == 0 || plan.Rate >= 1 && plan.Rate <= 1e8):
		return usagef("--rate: must be 1 to 100000000, or 0 for as many as possible, got %v", plan.Rate)
	}
	return nil
}
