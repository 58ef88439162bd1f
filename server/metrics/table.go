package metrics

import "strconv"

// parts are the parts of the handbook.
var parts = []struct {
	heading string
	rows    []Row
}{
	{"The server", serverRows}, {"Decisions and commands", decisionRows}, {"Warnings of limits", warnRows}, {"Connections", connectionRows}, {"Keys", keyRows},
	{"State on disk", persistenceRows}, {"The cluster", clusterRows}, {"Groups of keys", groupRows}, {"The home cluster", upstreamRows}, {"HTTP", httpRows},
	{"Envoy's rate limit service", envoyRows},
}

// Table holds every metric, in the order of the handbook. Metrics of the Go runtime and the process come from
// client_golang's collectors.
var Table = func() (all []Row) {
	for _, part := range parts {
		all = append(all, part.rows...)
	}
	return all
}()

const boundCommands = "the commands in [commands.md](commands.md)"

var serverRows = []Row{{
	Name: "stint_build_info", Kind: Gauge, Labels: []string{"version", "go_version"}, Bound: "those of this build",
	Help:   "Always 1; the labels state the version that runs.",
	values: func(r *Snapshot, emit func(float64, ...string)) { emit(1, r.Version, r.GoVersion) },
}, {
	Name: "stint_uptime_seconds", Kind: Gauge, Help: "Time since the server was started.",
	values: one(func(r *Snapshot) float64 { return r.Uptime.Seconds() }),
}, {
	Name: "stint_clock_ahead_seconds", Kind: Gauge,
	Help:   "Time by which Stint's own clock is ahead of the machine's clock. If it is more than a few seconds, the machine's clock is wrong or was wrong once.",
	values: one(func(r *Snapshot) float64 { return r.Ahead.Seconds() }),
}, {
	Name: "stint_ready", Kind: Gauge, Help: "1 if the server is ready: recovered, not shutting down and, in a cluster, with a leader.",
	values: one(func(r *Snapshot) float64 { return zeroOrOne(r.Ready) }),
}, {
	Name: "stint_slow_commands_total", Kind: Counter, Help: "Commands recorded in SLOWLOG.",
	values: one(func(r *Snapshot) float64 { return float64(r.SlowCommands) }),
}, {
	Name: "stint_event_loops", Kind: Gauge, Help: "Event loops that have served a connection.",
	values: one(func(r *Snapshot) float64 { return float64(r.Loops) }),
}, {
	Name: "stint_event_loop_lag_seconds", Kind: Gauge, Help: "Time that a task recently waited in an event loop; the maximum over all loops.",
	values: one(func(r *Snapshot) float64 { return r.LoopLag.Seconds() }),
}}

var decisionRows = []Row{{
	Name: "stint_decisions_total", Kind: Counter, Labels: []string{"command", "outcome"}, Bound: boundCommands + ", each with granted, denied and error",
	Help: "Commands that ask for tokens, by outcome. A PEEK counts only if it gets an error.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for i := range r.Commands {
			if c := &r.Commands[i]; c.Decides {
				emit(float64(c.Granted), c.Name, "granted")
				emit(float64(c.Denied), c.Name, "denied")
				emit(float64(c.Failed), c.Name, "error")
			}
		}
	},
}, {
	Name: "stint_tokens_total", Kind: Counter, Labels: []string{"command", "outcome"}, Bound: boundCommands + ", each with granted and denied",
	Help: "Requested tokens, by outcome.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for i := range r.Commands {
			if c := &r.Commands[i]; c.Decides {
				emit(float64(c.TokensGranted), c.Name, "granted")
				emit(float64(c.TokensDenied), c.Name, "denied")
			}
		}
	},
}, {
	Name: "stint_denial_events_total", Kind: Counter, Labels: []string{"outcome"}, Bound: "written, left_out",
	Help: "Denials while --denial-events is set, by whether they were written to the log or left out.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		emit(float64(r.DenialsWritten), "written")
		emit(float64(r.DenialsLeftOut), "left_out")
	},
}, {
	Name: "stint_policy_decisions_total", Kind: Counter, Labels: []string{"policy", "outcome"}, Bound: "the first 100 policies by name and (other), each with granted, denied and shadow_denied",
	Help:   "Checks of policies that this node answered. shadow_denied are checks that SHADOW granted although the limits would have denied them.",
	values: func(r *Snapshot, emit func(float64, ...string)) { emitChecks(r.Policies, emit) },
}, {
	Name: "stint_policies", Kind: Gauge, Help: "Stored policies.",
	values: one(func(r *Snapshot) float64 { return float64(r.PolicyCount) }),
}, {
	Name: "stint_top_denied", Kind: Gauge, Labels: []string{"key"}, Bound: "the 10 keys denied most, shortened to 64 characters; hashes with --top-keys hashed, none with off",
	Help: "Denials of the keys that were denied most in the last 4 to 5 minutes, with the counting error of RL.TOP.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for _, d := range r.TopDenied {
			emit(float64(d.Count), d.Key)
		}
	},
}, {
	Name: "stint_top_sampling", Kind: Gauge, Help: "Sampling interval of stint_top_denied: with 10, one in 10 denials is counted.",
	values: one(func(r *Snapshot) float64 { return float64(r.TopWeight) }),
}, {
	Name: "stint_commands_total", Kind: Counter, Labels: []string{"command"}, Bound: boundCommands + ", and (unknown)",
	Help:   "Executed commands, including those answered with an error.",
	values: each(func(c *Command) int64 { return c.Latency.Count }),
}, {
	Name: "stint_command_errors_total", Kind: Counter, Labels: []string{"command"}, Bound: boundCommands + ", and (unknown)",
	Help:   "Commands whose reply was an error.",
	values: each(func(c *Command) int64 { return c.Errors }),
}, {
	Name: "stint_command_duration_seconds", Kind: Histogram, Labels: []string{"command"}, Bound: boundCommands + ", and (unknown)",
	Help: "Time from the arrival of a command's bytes until its reply was ready to be sent. Waiting by BLOCK is not included.",
	distributions: func(r *Snapshot, emit func(Distribution, ...string)) {
		for i := range r.Commands {
			if c := &r.Commands[i]; c.Latency.Count > 0 {
				emit(c.Latency.distribution(), c.Name)
			}
		}
	},
}}

var connectionRows = []Row{{
	Name: "stint_connections", Kind: Gauge, Help: "Open client connections.",
	values: one(func(r *Snapshot) float64 { return float64(r.Connections) }),
}, {
	Name: "stint_connections_blocked", Kind: Gauge, Help: "Connections waiting in BLOCK.",
	values: one(func(r *Snapshot) float64 { return float64(r.Blocked) }),
}, {
	Name: "stint_pubsub_channels", Kind: Gauge, Help: "Channels with subscribers on this server.",
	values: one(func(r *Snapshot) float64 { return float64(r.Channels) }),
}, {
	Name: "stint_pubsub_subscriptions", Kind: Gauge, Help: "Subscriptions of connections to channels.",
	values: one(func(r *Snapshot) float64 { return float64(r.Subscriptions) }),
}, {
	Name: "stint_connections_accepted_total", Kind: Counter, Help: "Accepted connections.",
	values: one(func(r *Snapshot) float64 { return float64(r.ConnectionsAccepted) }),
}, {
	Name: "stint_connections_rejected_total", Kind: Counter, Help: "Connections rejected by --max-clients or --max-clients-per-address.",
	values: one(func(r *Snapshot) float64 { return float64(r.ConnectionsRejected) }),
}, {
	Name: "stint_connections_slow_total", Kind: Counter, Help: "Connections closed because more than --output-buffer-size of their replies was unread, or because nothing was read for --output-timeout.",
	values: one(func(r *Snapshot) float64 { return float64(r.SlowReaders) }),
}, {
	Name: "stint_refusals_total", Kind: Counter, Labels: []string{"reason"}, Bound: "the reasons, named as in INFO stats",
	Help: "Connections, commands and logins rejected by authentication, permissions or limits of clients, by reason.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for _, refusal := range r.Rejections {
			emit(float64(refusal.Count), refusal.Reason)
		}
	},
}, {
	Name: "stint_monitors", Kind: Gauge, Help: "Connections in MONITOR.",
	values: one(func(r *Snapshot) float64 { return float64(r.Monitors) }),
}, {
	Name: "stint_monitor_dropped_total", Kind: Counter, Help: "Lines of MONITOR dropped because a connection did not keep up.",
	values: one(func(r *Snapshot) float64 { return float64(r.MonitorDropped) }),
}, {
	Name: "stint_received_bytes_total", Kind: Counter, Help: "Bytes received from clients.",
	values: one(func(r *Snapshot) float64 { return float64(r.Received) }),
}, {
	Name: "stint_sent_bytes_total", Kind: Counter, Help: "Bytes sent to clients.",
	values: one(func(r *Snapshot) float64 { return float64(r.Sent) }),
}}

var keyRows = []Row{{
	Name: "stint_keys", Kind: Gauge, Help: "Stored keys, including expired keys that have not been removed yet.",
	values: one(func(r *Snapshot) float64 { return float64(r.Keys) }),
}, {
	Name: "stint_database_keys", Kind: Gauge, Labels: []string{"database"}, Bound: "the databases that have keys",
	Help: "Stored keys in each database.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for number, keys := range r.DatabaseKeys {
			if keys > 0 {
				emit(float64(keys), strconv.Itoa(number))
			}
		}
	},
}, {
	Name: "stint_lent_keys", Kind: Gauge, Help: "Keys with tokens lent to holders (RL.LEND).",
	values: one(func(r *Snapshot) float64 { return float64(r.LentKeys) }),
}, {
	Name: "stint_keys_bytes", Kind: Gauge, Help: "Memory used by keys.",
	values: one(func(r *Snapshot) float64 { return float64(r.KeyBytes) }),
}, {
	Name: "stint_keys_limit_bytes", Kind: Gauge, Help: "Maximum memory of the keys: the part of --max-memory that is available to them.",
	values: one(func(r *Snapshot) float64 { return float64(r.MaxBytes) }),
}, {
	Name: "stint_expired_keys_total", Kind: Counter, Help: "Expired keys that were removed.",
	values: one(func(r *Snapshot) float64 { return float64(r.Expired) }),
}, {
	Name: "stint_memory_limit_bytes", Kind: Gauge, Help: "Maximum memory of the process: --max-memory or its default.",
	values: one(func(r *Snapshot) float64 { return float64(r.MaxMemory) }),
}, {
	Name: "stint_forced_decisions_total", Kind: Counter, Labels: []string{"mode"}, Bound: "refused, allowed, shared, shared_denied",
	Help: "Decisions on new keys while memory was full, by the rule of --when-full. shared_denied is the number of shared decisions that were denials.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		emit(float64(r.Forced.Denied), "refused")
		emit(float64(r.Forced.Allowed), "allowed")
		emit(float64(r.Forced.Shared), "shared")
		emit(float64(r.Forced.SharedDenied), "shared_denied")
	},
}, {
	Name: "stint_quota_keys", Kind: Gauge, Labels: []string{"quota"}, Bound: "the first 100 of --prefix-quotas and of users' max-keys",
	Help: "Keys counted by a quota.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for _, q := range r.Quotas {
			emit(float64(q.Keys), q.Name)
		}
	},
}}
