package config

import (
	"runtime"
	"slices"
	"time"
)

// Config is a complete set of settings. It is a plain value: copy it, change the copy with [Setting.Set], check it, and
// swap it in. A copy shares lists with the original, which is safe because Set replaces lists and never writes into
// them.
type Config struct {
	Listen        []string // where clients connect: HOST:PORT or unix:/path, at least one
	TLSListen     []string // where clients connect over TLS; none is off
	GRPCListen    []string // where Envoy connects; none is off
	GRPCTLSListen []string // where Envoy connects over TLS; none is off
	RLSConfig     string   // directory of Envoy's rules
	Policies      string   // file of policies
	RLSHeaders    bool     // replies to Envoy have header fields
	RLSXDS        string   // HOST:PORT of the control plane that pushes Envoy's rules, "" is none
	RLSXDSNode    string   // this server's name for the control plane
	RLSXDSWait    bool     // not ready until there are rules
	RLSXDSTLS     bool     // connect to the control plane over TLS
	RLSXDSTLSCert string   // file of this server's certificate for the control plane, PEM, "" is none
	RLSXDSTLSKey  string   // file of its key, PEM
	RLSXDSTLSCA   string   // file of the CAs of the control plane's certificate, "" is the system's CAs
	RLSXDSTLSName string   // the name that the control plane's certificate must have, "" is the host of RLSXDS
	HealthListen  []string // where health checks are answered over HTTP; none is off

	TLSCert     string // file of the certificate chain, PEM
	TLSKey      string // file of its key, PEM
	TLSClientCA string // file of the CAs of clients' certificates, "" asks for no certificate

	HTTPListen    []string // where clients connect over HTTP; none is off
	HTTPTLSListen []string // the same over TLS
	HTTPHosts     []string // names of this server in requests without a password, in addition to addresses and localhost
	HTTPOrigins   []string // web sites whose pages may send requests

	RateLimitFields string // styles of fields about limits, "" is the default of each protocol

	File  string // the configuration file that was read, "" is none
	Loops int    // event loops, 0 depends on the number of cores: see LoopCount

	Dir            string        // data directory, "" keeps everything in memory
	Durability     string        // interval, always or snapshot
	SnapshotEvery  time.Duration // between snapshots, 0 is never on a schedule
	JournalBytes   int64         // size beyond which a journal is replaced by a snapshot
	Repair         bool          // start although files in Dir are damaged
	Databases      int           // number of databases of a standalone server
	Rewind         bool          // start although the time of the state is ahead of the machine's clock
	MaxMemoryBytes int64         // the largest resident memory of the process, 0 is three quarters of the machine's

	WhenFull         string        // how new keys are treated when memory is full: deny-new, allow-new or overflow
	PrefixDelimiters string        // any of these bytes ends a key's prefix
	PrefixQuotas     []PrefixQuota // how many keys may begin with a prefix

	RequirePass   string        // the default user's password: "" is none, otherwise # and its SHA-256 in hexadecimal digits
	ACLFile       string        // file of users, "" is none
	ACLLogLength  int           // denials that ACL LOG keeps
	ProtectedMode bool          // without a password, connections from other machines are refused
	AuthTimeout   time.Duration // how long a connection may take to log in
	FailedLogins  int           // failed logins of an address in a minute before it is slowed down
	PreauthArgs   int           // MaxArgs of a connection that is not logged in
	PreauthBytes  int           // bytes of such a connection's commands, and of its unread replies

	MaxClients        int           // connections at once
	AddressClients    int           // connections of one address
	MaxStrangers      int           // connections that have not logged in
	ClientBytes       int64         // the buffers of all connections together, 0 depends on the memory: see ClientMemory
	CommandTimeout    time.Duration // from the first byte of a command to its last
	OutputTimeout     time.Duration // how long a client may not read although it must read before it is served
	MaxArgs           int           // words in one command, including its name
	MaxKeyBytes       int           // longest key
	MaxSlidingLog     int           // largest limit of a sliding log
	TrackingKeys      int           // keys that clients track
	MaxBulkBytes      int           // longest single argument
	QueryBufferBytes  int           // bytes of unfinished commands a connection may hold
	OutputBufferBytes int           // bytes of replies a connection may leave unread
	IdleTimeout       time.Duration // an idle connection is closed after this time, 0 is never
	ShutdownGrace     time.Duration // how long a node of a cluster serves its connections at shutdown, 0 is not at all
	ShutdownTimeout   time.Duration // how long open connections may take to drain at shutdown

	NodeID             string        // the node's name in its cluster
	ClusterListen      string        // HOST:PORT where other nodes connect, "" is no cluster
	ClusterAdvertise   string        // HOST:PORT where other nodes reach ClusterListen, "" is ClusterListen itself
	ClusterPeers       []string      // HOST:PORT of the nodes that form the cluster, this one among them
	BootstrapExpect    int           // nodes that must connect before they form the cluster, 0 is all of ClusterPeers
	ClusterImport      string        // data directory or backup of a standalone server with which a new cluster begins, "" is none
	Advertise          string        // HOST:PORT where clients reach this node, "" follows from Listen
	Groups             int           // groups of keys in a new cluster
	ClusterReplicas    int           // replicas of each group of keys in a new cluster; 0 is one on every node
	ClusterShared      []string      // patterns of keys whose limits all groups share
	Redirect           string        // forward or moved: how a node that is not the leader treats requests
	DecideTimeout      time.Duration // an undecided request is answered CLUSTERDOWN after this time
	ClusterHeartbeat   time.Duration // a leader without messages for this time is replaced
	ClusterAhead       time.Duration // this node holds tokens of keys in demand for this time, 0 is off
	ClusterLog         string        // stint or boltdb: what stores the Raft log
	ClusterLogBytes    int64         // size above which the Raft log is truncated after a snapshot
	ClusterDiskTimeout time.Duration // a leader whose disk takes longer gives up leadership
	ClusterSecret      string        // # and the SHA-256 of the secret, in hexadecimal digits; "" is none
	ClusterTLSCert     string        // files in PEM: this node's certificate, its key, and the CAs of all nodes
	ClusterTLSKey      string
	ClusterTLSCA       string
	ClusterInsecure    bool // nodes communicate without TLS

	Upstream             []string      // HOST:PORT of the home cluster's nodes, none is no home
	UpstreamKeys         []string      // patterns of the keys whose limits are in the home cluster
	UpstreamPolicies     []string      // patterns of the names of policies that are copied from the home cluster
	UpstreamUser         string        // this server's user at home, "" is the user default
	UpstreamPasswordFile string        // file of the user's password, "" is none
	UpstreamTLS          bool          // connect to home over TLS
	UpstreamTLSCA        string        // file of the CAs of home's certificate, "" is the system's CAs
	UpstreamTimeout      time.Duration // of a request to home
	UpstreamDown         string        // error, deny, allow or a percentage: how requests are treated while home does not answer
	UpstreamDenyFor      time.Duration // how long a denial by home is repeated
	UpstreamLoanTime     time.Duration // home counts lent tokens as spent after this time, 0 is never

	Admin         string // HOST:PORT of the HTTP server for operators, "" is off
	AdminToken    string // # and the SHA-256 of the password, in hexadecimal digits; "" is none
	AdminTLS      bool
	Pprof         bool   // serve profiles there
	WarnWebhook   string // URL of the webhook for warnings, "" is none
	TopKeys       string // plain, hashed or off: how the most denied keys are shown
	DenialEvents  int    // denials a second that the log has at most, 0 is none
	SlowlogMicros int    // commands that take longer are recorded in SLOWLOG, -1 is none
	SlowlogLength int    // entries in SLOWLOG
	LatencyMillis int    // anything that takes longer is a LATENCY event, 0 is off

	LogLevel  string // debug, info, warn or error
	LogFormat string // text or json
}

// PrefixQuota is the maximum number of keys with a prefix.
type PrefixQuota struct {
	Prefix  string
	MaxKeys int64
}

// ClientMemory if ClientBytes is not set.
const (
	clientMemoryShare = 16
	minClientMemory   = 8 << 20
	maxClientMemory   = 128 << 20
)

// ClientMemory is how many bytes the buffers of all connections may take, if the process may take total.
func (c *Config) ClientMemory(total int64) int64 {
	if c.ClientBytes > 0 {
		return min(c.ClientBytes, total/maxClientShare)
	}
	return min(max(total/clientMemoryShare, minClientMemory), maxClientMemory)
}

// LoopCount is the number of event loops. By default it leaves one core to the kernel's network, the garbage collector,
// snapshots and, on a small machine, the clients: there, another loop costs more in wake-ups than it serves (decision
// 0027). A container's limit of cores counts.
func (c *Config) LoopCount() int {
	if c.Loops > 0 {
		return c.Loops
	}
	return max(1, cores-1)
}

// cores is the number of cores that the process may use. GOMAXPROCS may be more later.
var cores = runtime.GOMAXPROCS(0)

// DatabaseCount is the number of databases. A cluster has one.
func (c *Config) DatabaseCount() int {
	if c.IsCluster() {
		return 1
	}
	return c.Databases
}

// Default returns the default settings.
func Default() Config {
	return Config{
		Listen:             []string{"127.0.0.1:6379"},
		Durability:         "interval",
		SnapshotEvery:      5 * time.Minute,
		JournalBytes:       64 << 20,
		Databases:          16,
		WhenFull:           "overflow",
		PrefixDelimiters:   ":",
		ACLLogLength:       128,
		ProtectedMode:      true,
		AuthTimeout:        10 * time.Second,
		FailedLogins:       20,
		PreauthArgs:        10,
		PreauthBytes:       16 << 10,
		MaxClients:         10_000,
		AddressClients:     2000,
		MaxStrangers:       1000,
		CommandTimeout:     30 * time.Second,
		OutputTimeout:      30 * time.Second,
		IdleTimeout:        time.Hour,
		MaxArgs:            65_536,
		MaxKeyBytes:        4 << 10,
		MaxSlidingLog:      100_000,
		TrackingKeys:       1_000_000,
		MaxBulkBytes:       1 << 20,
		QueryBufferBytes:   4 << 20,
		OutputBufferBytes:  4 << 20,
		ShutdownGrace:      time.Second,
		ShutdownTimeout:    5 * time.Second,
		Groups:             1,
		Redirect:           "forward",
		DecideTimeout:      time.Second,
		ClusterHeartbeat:   300 * time.Millisecond,
		ClusterAhead:       time.Second,
		ClusterLog:         "stint",
		ClusterLogBytes:    64 << 20,
		ClusterDiskTimeout: 2 * time.Second,
		UpstreamTimeout:    time.Second,
		UpstreamDown:       downError,
		UpstreamDenyFor:    100 * time.Millisecond,
		RLSXDSNode:         "stint",
		RLSXDSWait:         true,
		Admin:              "127.0.0.1:6380",
		TopKeys:            "plain",
		SlowlogMicros:      10_000,
		SlowlogLength:      128,
		LogLevel:           "info",
		LogFormat:          "text",
	}
}

// maxClientShare limits clients' buffers to a quarter of all memory. The buffers cause garbage as well, and the program
// and the keys need the rest.
const maxClientShare = 4

// AdminIsDefault reports whether the HTTP server for operators has its default address. Nobody asked for that address,
// so any other use of it takes precedence.
func (c *Config) AdminIsDefault() bool { return c.Admin == Default().Admin && !c.AdminTLS }

// AdminAddress is the address of the HTTP server for operators. It is "" if that is off, or if its default address is
// needed for something else.
func (c *Config) AdminAddress() string {
	needed := slices.Concat(c.Listen, c.TLSListen, c.HTTPAddresses(), c.GRPCAddresses(), c.HealthListen)
	if c.ClusterListen != "" {
		needed = append(needed, c.ClusterListen)
	}
	if c.AdminIsDefault() && slices.ContainsFunc(needed, func(a string) bool { return overlap(a, c.Admin) }) {
		return ""
	}
	return c.Admin
}

// HTTPAddresses returns the addresses of --http-listen and --http-tls-listen.
func (c *Config) HTTPAddresses() []string { return slices.Concat(c.HTTPListen, c.HTTPTLSListen) }

// GRPCAddresses returns the addresses of --grpc-listen and --grpc-tls-listen.
func (c *Config) GRPCAddresses() []string { return slices.Concat(c.GRPCListen, c.GRPCTLSListen) }

// IsCluster reports whether the server is a node of a cluster.
func (c *Config) IsCluster() bool { return c.ClusterListen != "" }
