package config

import (
	"time"

	"github.com/stintdb/stint/engine/database"
)

var serverSettings = []Setting{
	{
		Name: "listen", Group: groupNetwork, Placeholder: "ADDRESS",
		Help:  "Address for clients: HOST:PORT or unix:/path. An empty HOST means every interface. May be repeated; in an environment variable, separate addresses by commas.",
		value: func(c *Config) Value { return &addresses{&c.Listen, false} },
	},
	{
		Name: "tls-listen", Group: groupNetwork, Placeholder: "ADDRESS",
		Help:  "Address for clients with TLS 1.2 or 1.3, in the syntax of --listen. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.TLSListen, true} },
	},
	{
		Name: "tls-cert", Redis: "tls-cert-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Certificate for --tls-listen, --http-tls-listen, --grpc-tls-listen and --admin-tls, in PEM, followed by its intermediate certificates. Stint notices a changed file within 10s, or at once after SIGHUP.",
		value: func(c *Config) Value { return &textValue{&c.TLSCert, pathForm} },
	},
	{
		Name: "tls-key", Redis: "tls-key-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Private key of --tls-cert, in PEM.",
		value: func(c *Config) Value { return &textValue{&c.TLSKey, pathForm} },
	},
	{
		Name: "tls-client-ca", Redis: "tls-ca-cert-file", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Require TLS clients to present a certificate from one of the CAs in this PEM file.",
		value: func(c *Config) Value { return &textValue{&c.TLSClientCA, pathForm} },
	},
	{
		Name: "loops", Group: groupNetwork, Placeholder: "N",
		Help:  "Number of event loops that serve connections; 0 means one less than the number of cores, but at least one.",
		value: func(c *Config) Value { return &integer{&c.Loops, 0, 1024} },
	},
	{
		Name: "config", Group: groupNetwork, Placeholder: "FILE",
		Help:  "Read settings from this TOML file. Flags and environment variables take precedence.",
		value: func(c *Config) Value { return &textValue{&c.File, pathForm} },
	},
	{
		Name: "dir", Group: groupState, Placeholder: "PATH",
		Help:  "Store state in this directory, which is created if necessary. Without it, a restart loses all state.",
		value: func(c *Config) Value { return &textValue{&c.Dir, pathForm} },
	},
	{
		Name: "policies", Group: groupState, Placeholder: "FILE",
		Help:  "File with all policies of the server, in TOML or YAML, as 'stint policy export' writes it. It is read at the start, within 10s after a change, or at once after SIGHUP; policies that are not in it are removed. For a cluster, use 'stint policy apply'.",
		value: func(c *Config) Value { return &textValue{&c.Policies, pathForm} },
	},
	{
		Name: "durability", Group: groupState, Placeholder: "MODE",
		Help:  "With --dir, when changes reach the disk: interval (written within 10ms, synced within a second), always (synced before each reply) or snapshot (with the next snapshot).",
		value: func(c *Config) Value { return &word{&c.Durability, []string{"interval", "always", "snapshot"}} },
	},
	{
		Name: "snapshot-every", Group: groupState, Placeholder: "DURATION",
		Help:  "With --dir: time between snapshots; 0 turns scheduled snapshots off.",
		value: func(c *Config) Value { return &duration{&c.SnapshotEvery, 365 * 24 * time.Hour, "never"} },
	},
	{
		Name: "journal-size", Group: groupState, Placeholder: "SIZE",
		Help:  "With --dir: when the journal is larger than this size and larger than the last snapshot, a new snapshot replaces the journal.",
		value: func(c *Config) Value { return &size[int64]{&c.JournalBytes, 1 << 20, 1 << 44, ""} },
	},
	{
		Name: "repair", Group: groupState, Placeholder: "YES",
		Help:  "With --dir: start even if a file is damaged, without the part that cannot be read.",
		value: func(c *Config) Value { return &toggle{&c.Repair} },
	},
	{
		Name: "rewind", Group: groupState, Placeholder: "YES",
		Help:  "With --dir or --cluster-import: start even if the saved state is from a time more than 10m ahead of the machine's clock. Use this if that clock was wrong when the state was saved.",
		value: func(c *Config) Value { return &toggle{&c.Rewind} },
	},
	{
		Name: "databases", Group: groupState, Placeholder: "N",
		Help:  "Number of databases, numbered from 0, each with its own keys. A cluster has one. Policies, and limits over HTTP and gRPC, are in database 0.",
		value: func(c *Config) Value { return &integer{&c.Databases, 1, database.Most} },
	},
	{
		Name: "max-memory", Redis: "maxmemory", Group: groupState, Placeholder: "SIZE", Mutable: true,
		Help: "Maximum resident memory of the whole server; 0 means three quarters of the memory of the machine, container or service.",
		value: func(c *Config) Value {
			return &size[int64]{&c.MaxMemoryBytes, 64 << 20, 1 << 44, "three quarters of the memory"}
		},
	},
	{
		Name: "when-full", Group: groupState, Placeholder: "RULE", Mutable: true,
		Help:  "What happens to requests for new keys when memory is full: deny-new rejects them with the error OOM, allow-new grants them without a limit, overflow makes all new keys with the same prefix share one limiter.",
		value: func(c *Config) Value { return &word{&c.WhenFull, []string{"deny-new", "allow-new", "overflow"}} },
	},
	{
		Name: "prefix-delimiters", Group: groupState, Placeholder: "CHARS", Mutable: true,
		Help:  "With --when-full overflow, a key's prefix ends with the first of these characters in the key.",
		value: func(c *Config) Value { return &textValue{&c.PrefixDelimiters, delimitersForm} },
	},
	{
		Name: "prefix-quotas", Group: groupState, Placeholder: "PREFIX=N", Mutable: true,
		Help:  "Maximum number of keys that begin with PREFIX; further new keys are treated as --when-full says. May be repeated.",
		value: func(c *Config) Value { return &quotas{&c.PrefixQuotas} },
	},
	{
		Name: "requirepass", Group: groupSecurity, Placeholder: "PASSWORD", Mutable: true,
		Help:  "Password of the user default, or # and its SHA-256 in hexadecimal digits. Without a password and without --acl-file, every client may do everything.",
		value: func(c *Config) Value { return &secret{&c.RequirePass} },
	},
	{
		Name: "acl-file", Redis: "aclfile", Group: groupSecurity, Placeholder: "PATH",
		Help:  "Read users from this file; ACL SAVE writes it and ACL LOAD reloads it.",
		value: func(c *Config) Value { return &textValue{&c.ACLFile, pathForm} },
	},
	{
		Name: "acl-log-length", Redis: "acllog-max-len", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Number of denials and failed logins that ACL LOG keeps.",
		value: func(c *Config) Value { return &integer{&c.ACLLogLength, 0, 10_000} },
	},
	{
		Name: "protected-mode", Group: groupSecurity, Placeholder: "YES", Mutable: true,
		Help:  "While the user default needs no password, accept connections only from this machine.",
		value: func(c *Config) Value { return &toggle{&c.ProtectedMode} },
	},
	{
		Name: "auth-timeout", Group: groupSecurity, Placeholder: "DURATION", Mutable: true,
		Help:  "Time within which a connection must authenticate, including the TLS handshake.",
		value: func(c *Config) Value { return &duration{&c.AuthTimeout, time.Hour, ""} },
	},
	{
		Name: "failed-logins", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Failed logins allowed per address and minute; further logins are slowed down to this rate.",
		value: func(c *Config) Value { return &integer{&c.FailedLogins, 1, 1_000_000} },
	},
	{
		Name: "preauth-args", Group: groupSecurity, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of arguments in one command of an unauthenticated connection.",
		value: func(c *Config) Value { return &integer{&c.PreauthArgs, 10, 1 << 20} },
	},
	{
		Name: "preauth-size", Group: groupSecurity, Placeholder: "SIZE", Mutable: true,
		Help:  "For an unauthenticated connection: maximum size of a command, of an unfinished command, and of the unread replies.",
		value: func(c *Config) Value { return &size[int]{&c.PreauthBytes, 1 << 10, 1 << 30, ""} },
	},
	{
		Name: "max-clients", Redis: "maxclients", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of connections; further connections get an error and are closed.",
		value: func(c *Config) Value { return &integer{&c.MaxClients, 1, 1_000_000} },
	},
	{
		Name: "max-clients-per-address", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of connections from one IPv4 address or IPv6 /64 network; unix sockets are not counted.",
		value: func(c *Config) Value { return &integer{&c.AddressClients, 1, 1_000_000} },
	},
	{
		Name: "max-unauthenticated", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of unauthenticated connections; a further connection closes the oldest of them.",
		value: func(c *Config) Value { return &integer{&c.MaxStrangers, 1, 1_000_000} },
	},
	{
		Name: "client-memory", Redis: "maxmemory-clients", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help: "Maximum total size of the buffers of all connections; above it, connections that use more than their share are closed. 0 means a sixteenth of --max-memory, but at least 8mb and at most 128mb.",
		value: func(c *Config) Value {
			return &size[int64]{&c.ClientBytes, 1 << 20, 1 << 40, "a sixteenth of --max-memory"}
		},
	},
	{
		Name: "command-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection if one of its commands takes longer than this to arrive.",
		value: func(c *Config) Value { return &duration{&c.CommandTimeout, time.Hour, ""} },
	},
	{
		Name: "output-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection if more than half of --output-buffer-size is unread and it reads nothing for this time.",
		value: func(c *Config) Value { return &duration{&c.OutputTimeout, time.Hour, ""} },
	},
	{
		Name: "idle-timeout", Redis: "timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "Close a connection that has been idle for this time; 0 means never.",
		value: func(c *Config) Value { return &duration{&c.IdleTimeout, 365 * 24 * time.Hour, "never"} },
	},
	{
		Name: "shutdown-timeout", Group: groupClients, Placeholder: "DURATION", Mutable: true,
		Help:  "At shutdown, how long to wait until connections have received their replies; 0 means not at all.",
		value: func(c *Config) Value { return &duration{&c.ShutdownTimeout, time.Hour, "not at all"} },
	},
	{
		Name: "max-args", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of arguments in one command, including its name.",
		value: func(c *Config) Value { return &integer{&c.MaxArgs, 16, 1 << 20} },
	},
	{
		Name: "max-key-size", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Maximum size of a key.",
		value: func(c *Config) Value { return &size[int]{&c.MaxKeyBytes, 1, 65535, ""} },
	},
	{
		Name: "max-sliding-log", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum limit of SL.ACQUIRE, which stores 16 bytes for every request in its window.",
		value: func(c *Config) Value { return &integer{&c.MaxSlidingLog, 1, 1_000_000} },
	},
	{
		Name: "tracking-table-max-keys", Group: groupClients, Placeholder: "N", Mutable: true,
		Help:  "Maximum number of keys in the table of CLIENT TRACKING; its memory is at most a quarter of --client-memory. When the table is full, each new key invalidates another key.",
		value: func(c *Config) Value { return &integer{&c.TrackingKeys, 0, 100_000_000} },
	},
	{
		Name: "max-bulk-size", Redis: "proto-max-bulk-len", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Maximum size of one argument of a command.",
		value: func(c *Config) Value { return &size[int]{&c.MaxBulkBytes, 1 << 10, 512 << 20, ""} },
	},
	{
		Name: "query-buffer-size", Redis: "client-query-buffer-limit", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Maximum size of an unfinished command, which is refused if it is larger.",
		value: func(c *Config) Value { return &size[int]{&c.QueryBufferBytes, 4 << 10, 1 << 30, ""} },
	},
	{
		Name: "output-buffer-size", Group: groupClients, Placeholder: "SIZE", Mutable: true,
		Help:  "Maximum size of the unread replies of a client. Above half of it, no further commands are executed until the client has read some. If messages of channels exceed the maximum, the connection is closed.",
		value: func(c *Config) Value { return &size[int]{&c.OutputBufferBytes, 16 << 10, 1 << 30, ""} },
	},
}

var logSettings = []Setting{
	{
		Name: "log-level", Group: groupLog, Placeholder: "LEVEL", Mutable: true,
		Help:  "Minimum level of log messages: debug, info, warn or error.",
		value: func(c *Config) Value { return &word{&c.LogLevel, []string{"debug", "info", "warn", "error"}} },
	},
	{
		Name: "log-format", Group: groupLog, Placeholder: "FORMAT",
		Help:  "Format of log messages: text for people, json for machines.",
		value: func(c *Config) Value { return &word{&c.LogFormat, []string{"text", "json"}} },
	},
}
