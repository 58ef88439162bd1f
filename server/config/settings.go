package config

import (
	"slices"
	"time"
)

// The groups of the help text and of docs/configuration.md.
const (
	groupNetwork  = "Network"
	groupState    = "State and memory"
	groupSecurity = "Who may do what"
	groupClients  = "Limits on clients"
	groupCluster  = "Cluster"
	groupLog      = "Logging"

	groupOperators = "For operators"
)

// Settings is the one table of settings, in the order people read it; rows of one group stand together.
var Settings = slices.Concat(serverSettings, clusterSettings, operatorSettings, logSettings)

var serverSettings = []Setting{
	{
		Name: "listen", Group: groupNetwork, Placeholder: "ADDRESS",
		Help:  "Where clients connect: HOST:PORT or unix:/path. An empty HOST is every interface. May be repeated; in a variable, separate several by commas.",
		value: func(c *Config) Value { return &addresses{&c.Listen, false} },
	},
	{
		Name: "tls-listen", Group: groupNetwork, Placeholder: "ADDRESS",
		Help:  "Where clients connect by TLS 1.2 or 1.3, written as for --listen. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.TLSListen, true} },
	},
	{
		Name: "tls-cert", Redis: "tls-cert-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Certificate for --tls-listen, in PEM, with those between it and its CA behind it. SIGHUP has it read again.",
		value: func(c *Config) Value { return &path{&c.TLSCert} },
	},
	{
		Name: "tls-key", Redis: "tls-key-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Private key of --tls-cert, in PEM.",
		value: func(c *Config) Value { return &path{&c.TLSKey} },
	},
	{
		Name: "tls-client-ca", Redis: "tls-ca-cert-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Ask TLS clients for a certificate from one of the CAs in this PEM file.",
		value: func(c *Config) Value { return &path{&c.TLSClientCA} },
	},
	{
		Name: "loops", Group: groupNetwork, Placeholder: "N",
		Help:  "Event loops that serve connections; 0 is one per core.",
		value: func(c *Config) Value { return &integer{&c.Loops, 0, 1024} },
	},
	{
		Name: "config", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Read settings from this TOML file. Flags and environment variables win over it.",
		value: func(c *Config) Value { return &path{&c.File} },
	},
	{
		Name: "dir", Group: groupState, Placeholder: "PATH",
		Help:  "Keep state in this directory, which is made if need be. Without it a restart forgets everything.",
		value: func(c *Config) Value { return &path{&c.Dir} },
	},
	{
		Name: "durability", Group: groupState, Placeholder: "MODE",
		Help:  "With --dir: interval flushes within 10ms and syncs within a second, always syncs before each reply, snapshot keeps snapshots only.",
		value: func(c *Config) Value { return &word{&c.Durability, []string{"interval", "always", "snapshot"}} },
	},
	{
		Name: "snapshot-every", Group: groupState, Placeholder: "DURATION",
		Help:  "With --dir: time between snapshots; 0 is never on a schedule.",
		value: func(c *Config) Value { return &duration{&c.SnapshotEvery, 365 * 24 * time.Hour, "never"} },
	},
	{
		Name: "journal-size", Group: groupState, Placeholder: "SIZE",
		Help:  "With --dir: a journal larger than this, and than the last snapshot, is replaced by a new snapshot.",
		value: func(c *Config) Value { return &size[int64]{&c.JournalBytes, 1 << 20, 1 << 44, ""} },
	},
	{
		Name: "repair", Group: groupState, Placeholder: "YES",
		Help:  "With --dir: start although a file there is damaged, without what can't be read. A copy of the file is kept.",
		value: func(c *Config) Value { return &toggle{&c.Repair} },
	},
	{
		Name: "max-memory", Redis: "maxmemory", Group: groupState, Placeholder: "SIZE", Mutable: true,
		Help: "Most resident memory of the whole server; 0 is three quarters of the machine's or the container's.",
		value: func(c *Config) Value {
			return &size[int64]{&c.MaxMemoryBytes, 64 << 20, 1 << 44, "three quarters of what there is"}
		},
	},
	{
		Name: "when-full", Group: groupState, Placeholder: "RULE", Mutable: true,
		Help:  "What becomes of new keys there is no room for: deny-new refuses them (OOM), allow-new lets them pass unlimited, overflow has those of one prefix share one limiter.",
		value: func(c *Config) Value { return &word{&c.WhenFull, []string{"deny-new", "allow-new", "overflow"}} },
	},
	{
		Name: "prefix-delimiters", Group: groupState, Placeholder: "CHARS", Mutable: true,
		Help:  "A key's prefix, for overflow, ends with the first of these characters in it.",
		value: func(c *Config) Value { return &delimiters{&c.PrefixDelimiters} },
	},
	{
		Name: "prefix-quotas", Group: groupState, Placeholder: "PREFIX=N", Mutable: true,
		Help:  "Most keys that may begin with a text; beyond it, new ones are treated as when full. May be repeated.",
		value: func(c *Config) Value { return &quotas{&c.PrefixQuotas} },
	},
	{
		Name: "requirepass", Group: groupSecurity, Placeholder: "PASSWORD", Mutable: true,
		Help:  "Password of the user default, or # and its SHA-256 in hexadecimal digits, which is what is kept and shown. Without it, and without --acl-file, whoever connects may do everything.",
		value: func(c *Config) Value { return &secret{&c.RequirePass} },
	},
	{
		Name: "acl-file", Redis: "aclfile", Group: groupSecurity, Placeholder: "PATH",
		Help:  "Read users from this file, which ACL SAVE writes and ACL LOAD reads again.",
		value: func(c *Config) Value { return &path{&c.ACLFile} },
	},
	{
		Name: "acl-log-length", Redis: "acllog-max-len", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Denials and failed logins that ACL LOG keeps.",
		value: func(c *Config) Value { return &integer{&c.ACLLogLength, 0, 10_000} },
	},
	{
		Name: "protected-mode", Group: groupSecurity, Placeholder: "YES", Mutable: true,
		Help:  "While the user default needs no password, accept connections from this machine only.",
		value: func(c *Config) Value { return &toggle{&c.ProtectedMode} },
	},
	{
		Name: "auth-timeout", Group: groupSecurity, Placeholder: "DURATION", Mutable: true,
		Help:  "How long a connection may take to log in, TLS handshake included.",
		value: func(c *Config) Value { return &duration{&c.AuthTimeout, time.Hour, ""} },
	},
	{
		Name: "failed-logins", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Failed logins an address may make in a minute; beyond them, each attempt from it waits its turn at that rate.",
		value: func(c *Config) Value { return &integer{&c.FailedLogins, 1, 1_000_000} },
	},
	{
		Name: "preauth-args", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Most words in one command before a connection has logged in.",
		value: func(c *Config) Value { return &integer{&c.PreauthArgs, 10, 1 << 20} },
	},
	{
		Name: "preauth-size", Group: groupSecurity, Placeholder: "SIZE", Mutable: true,
		Help:  "Before a connection has logged in: most bytes of a command, of one that is unfinished, and of replies left unread.",
		value: func(c *Config) Value { return &size[int]{&c.PreauthBytes, 1 << 10, 1 << 30, ""} },
	},
	{
		Name: "max-clients", Redis: "maxclients", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Most connections at once; one more is told so and closed.",
		value: func(c *Config) Value { return &integer{&c.MaxClients, 1, 1_000_000} },
	},
	{
		Name: "max-clients-per-address", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Most connections from one IPv4 address or IPv6 /64 network; those by unix sockets are not counted.",
		value: func(c *Config) Value { return &integer{&c.AddressClients, 1, 1_000_000} },
	},
	{
		Name: "max-unauthenticated", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Most connections that have not logged in; one more, and the oldest of them is closed.",
		value: func(c *Config) Value { return &integer{&c.MaxStrangers, 1, 1_000_000} },
	},
	{
		Name: "client-memory", Redis: "maxmemory-clients", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Most bytes in the buffers of all connections together; beyond it, those with more than their share are closed.",
		value: func(c *Config) Value { return &size[int64]{&c.ClientBytes, 1 << 20, 1 << 40, ""} },
	},
	{
		Name: "command-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection whose command takes longer to arrive.",
		value: func(c *Config) Value { return &duration{&c.CommandTimeout, time.Hour, ""} },
	},
	{
		Name: "output-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection that, with half of --output-buffer-size unread, goes so long without reading.",
		value: func(c *Config) Value { return &duration{&c.OutputTimeout, time.Hour, ""} },
	},
	{
		Name: "idle-timeout", Redis: "timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection that has been silent for so long; 0 is never.",
		value: func(c *Config) Value { return &duration{&c.IdleTimeout, 365 * 24 * time.Hour, "never"} },
	},
	{
		Name: "shutdown-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "How long connections may take at shutdown to get the answers they are owed; 0 is not at all.",
		value: func(c *Config) Value { return &duration{&c.ShutdownTimeout, time.Hour, "not at all"} },
	},
	{
		Name: "max-args", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Most words in one command, its name included.",
		value: func(c *Config) Value { return &integer{&c.MaxArgs, 16, 1 << 20} },
	},
	{
		Name: "max-key-size", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Longest key.",
		value: func(c *Config) Value { return &size[int]{&c.MaxKeyBytes, 1, 65535, ""} },
	},
	{
		Name: "max-sliding-log", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Largest limit of SL.ACQUIRE, which keeps 16 bytes for every request in its window.",
		value: func(c *Config) Value { return &integer{&c.MaxSlidingLog, 1, 1_000_000} },
	},
	{
		Name: "max-bulk-size", Redis: "proto-max-bulk-len", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Longest single argument of a command.",
		value: func(c *Config) Value { return &size[int]{&c.MaxBulkBytes, 1 << 10, 512 << 20, ""} },
	},
	{
		Name: "query-buffer-size", Redis: "client-query-buffer-limit", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Most bytes of an unfinished command a connection may hold; beyond it the connection is closed.",
		value: func(c *Config) Value { return &size[int]{&c.QueryBufferBytes, 4 << 10, 1 << 30, ""} },
	},
	{
		Name: "output-buffer-size", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Most bytes of replies a client may leave unread: beyond half of it nothing more is carried out, beyond all of it the connection is closed.",
		value: func(c *Config) Value { return &size[int]{&c.OutputBufferBytes, 16 << 10, 1 << 30, ""} },
	},
}

var logSettings = []Setting{
	{
		Name: "log-level", Group: groupLog, Placeholder: "LEVEL", Mutable: true,
		Help:  "Least severe messages to log: debug, info, warn or error.",
		value: func(c *Config) Value { return &word{&c.LogLevel, []string{"debug", "info", "warn", "error"}} },
	},
	{
		Name: "log-format", Group: groupLog, Placeholder: "FORMAT",
		Help:  "How messages are written: text for people, json for machines.",
		value: func(c *Config) Value { return &word{&c.LogFormat, []string{"text", "json"}} },
	},
}
