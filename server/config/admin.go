package config

import (
	"net"
	"slices"
)

// adminSettings are about observing a running server.
var adminSettings = []Setting{
	{
		Name: "admin", Group: groupOperators, Placeholder: "HOST:PORT",
		Help:  "Address of the HTTP server for metrics, health checks and the dashboard; empty turns it off. An address that is not loopback requires --admin-token.",
		value: func(c *Config) Value { return &textValue{&c.Admin, addressForm} },
	},
	{
		Name: "admin-token", Group: groupOperators, Placeholder: "TOKEN",
		Help:  "Token that HTTP requests to --admin must send (Authorization: Bearer). /healthz, /readyz and the page of the dashboard, without its data, need no token.",
		value: func(c *Config) Value { return &headerSecret{secret{&c.AdminToken}} },
	},
	{
		Name: "admin-tls", Group: groupOperators, Placeholder: "YES",
		Help:  "Serve --admin over HTTPS only, with the certificate of --tls-cert. Clients of --admin need no certificate.",
		value: func(c *Config) Value { return &toggle{&c.AdminTLS} },
	},
	{
		Name: "health-listen", Group: groupOperators, Placeholder: "ADDRESS",
		Help:  "Additional address for HTTP health checks, in the syntax of --listen. It answers /healthcheck, /readyz and /healthz without a password. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.HealthListen, true} },
	},
	{
		Name: "pprof", Group: groupOperators, Placeholder: "YES",
		Help:  "Serve profiles of the process at /debug/pprof/ of --admin. Requires --admin-token if clients need a password.",
		value: func(c *Config) Value { return &toggle{&c.Pprof} },
	},
	{
		Name: "top-keys", Group: groupOperators, Placeholder: "MODE", Mutable: true,
		Help:  "How RL.TOP, metrics and the dashboard show the keys with the most denials: plain, hashed for privacy, or off, which does not count them.",
		value: func(c *Config) Value { return &word{&c.TopKeys, []string{"plain", "hashed", "off"}} },
	},
	{
		Name: "warn-webhook", Group: groupOperators, Placeholder: "URL",
		Help:  "URL to which the warnings of limits with WARN are posted, with retries. CONFIG GET shows the URL. Must be the same on every node.",
		value: func(c *Config) Value { return &textValue{&c.WarnWebhook, webhookForm} },
	},
	{
		Name: "denial-events", Group: groupOperators, Placeholder: "N", Mutable: true,
		Help:  "Write up to this many denials a second to the log; others are only counted. 0 writes none.",
		value: func(c *Config) Value { return &integer{&c.DenialEvents, 0, 1000} },
	},
	{
		Name: "slowlog-log-slower-than", Group: groupOperators, Placeholder: "N", Mutable: true,
		Help:  "Record commands that take more microseconds than this in SLOWLOG; 0 records all, -1 none.",
		value: func(c *Config) Value { return &integer{&c.SlowlogMicros, -1, 1_000_000_000} },
	},
	{
		Name: "slowlog-max-len", Group: groupOperators, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of entries in SLOWLOG; the oldest are dropped first.",
		value: func(c *Config) Value { return &integer{&c.SlowlogLength, 0, 10_000} },
	},
	{
		Name: "latency-monitor-threshold", Group: groupOperators, Placeholder: "N", Mutable: true,
		Help:  "Record latency events that take more milliseconds than this; 0 turns monitoring off.",
		value: func(c *Config) Value { return &integer{&c.LatencyMillis, 0, 1_000_000} },
	},
}

// checkAdmin keeps strangers away from the HTTP server for operators.
func checkAdmin(c *Config) error {
	host, _, _ := net.SplitHostPort(c.Admin)
	if err := checkPorts(c, "--health-listen", c.HealthListen, slices.Concat(c.Listen, c.TLSListen, c.HTTPAddresses(), c.GRPCAddresses())); err != nil {
		return err
	}
	switch {
	case c.Admin == "" && c.AdminToken != "":
		return conflictf("--admin-token needs an address at which to ask for it: name one with --admin, or leave --admin-token out")
	case c.Admin == "" && c.AdminTLS:
		return conflictf("--admin-tls needs an address to be served at: name one with --admin, or leave --admin-tls out")
	case c.Admin == "" && c.Pprof:
		return conflictf("--pprof needs an address to be served at: name one with --admin, or leave --pprof out")
	case c.Admin != "" && c.AdminToken == "" && !isLoopback(host):
		return conflictf("--admin (%s) can be reached from other machines, which could read and change limits: set --admin-token, or listen on a loopback address such as 127.0.0.1:6380", c.Admin)
	}
	return nil
}
