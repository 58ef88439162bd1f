package config

import (
	"runtime"
	"time"
)

// Config is one complete set of settings. It is a plain value: copy it, change the copy with [Setting.Set], check it,
// and swap it in. A copy shares Listen and ClusterPeers with its original, which is safe because Set replaces a list and
// never writes into it.
type Config struct {
	Listen        []string // where clients connect: HOST:PORT or unix:/path, at least one
	TLSListen     []string // where clients connect by TLS; none is off
	GRPCListen    []string // where Envoy connects; none is off
	GRPCTLSListen []string // where Envoy connects by TLS; none is off
	RLSConfig     string   // directory of Envoy's rules
	RLSHeaders    bool     // answers to Envoy carry header fields
	RLSXDS        string   // HOST:PORT of the control plane that pushes Envoy's rules, "" is none
	RLSXDSNode    string   // the name that it knows this server by
	RLSXDSWait    bool     // not ready until there are rules
	RLSXDSTLS     bool     // connect to it by TLS
	RLSXDSTLSCert string   // file of this server's certificate for it, PEM, "" shows none
	RLSXDSTLSKey  string   // file of its key, PEM
	RLSXDSTLSCA   string   // file of the CAs of its certificate, "" is the system's
	RLSXDSTLSName string   // that its certificate must have, "" is that of RLSXDS
	HealthListen  []string // where health checks are answered by HTTP; none is off

	TLSCert     string // file of the certificate chain, PEM
	TLSKey      string // file of its key, PEM
	TLSClientCA string // file of the CAs a client's certificate must be from, "" asks for none

	HTTPListen    []string // where clients connect by HTTP; none is off
	HTTPTLSListen []string // the same by TLS
	HTTPHosts     []string // names of this server in requests without a password, besides addresses and localhost
	HTTPOrigins   []string // web sites whose pages may send requests

	RateLimitFields string // styles of fields about limits, "" is the default of each protocol

	File  string // the configuration file that was read, "" is none
	Loops int    // event loops, 0 follows from the cores there are: see LoopCount

	Dir            string        // data directory, "" keeps everything in memory
	Durability     string        // interval, always or snapshot
	SnapshotEvery  time.Duration // between snapshots, 0 is never on a schedule
	JournalBytes   int64         // size beyond which a journal is replaced by a snapshot
	Repair         bool          // start although files in Dir are damaged
	Databases      int           // number of databases of a server alone
	Rewind         bool          // start although the time of the state is ahead of the machine's clock
	MaxMemoryBytes int64         // bound on the resident memory of the process, 0 is three quarters of what there is

	WhenFull         string        // what becomes of new keys then: deny-new, allow-new or overflow
	PrefixDelimiters string        // any of these bytes ends a key's prefix
	PrefixQuotas     []PrefixQuota // most keys that begin with a text

	RequirePass   string        // of the default user: "" is none, else # and the SHA-256 of it in hexadecimal digits
	ACLFile       string        // file of users, "" is none
	ACLLogLength  int           // denials ACL LOG keeps
	ProtectedMode bool          // without a password, connections from elsewhere are refused
	AuthTimeout   time.Duration // how long a connection may take to log in
	FailedLogins  int           // that an address may make in a minute before it is slowed down
	PreauthArgs   int           // MaxArgs before a connection has logged in
	PreauthBytes  int           // and the bytes of its commands, and of replies it has not read

	MaxClients        int           // connections at once
	AddressClients    int           // connections of one address
	MaxStrangers      int           // connections that have not logged in
	ClientBytes       int64         // the buffers of all connections together, 0 follows from the memory there is: see ClientMemory
	CommandTimeout    time.Duration // from the first byte of a command to its last
	OutputTimeout     time.Duration // maximum time without a read of a client that must read before it is served
	MaxArgs           int           // words in one command, its name included
	MaxKeyBytes       int           // longest key
	MaxSlidingLog     int           // largest limit of a sliding log
	TrackingKeys      int           // that clients keep
	MaxBulkBytes      int           // longest single argument
	QueryBufferBytes  int           // bytes of unfinished commands a connection may hold
	OutputBufferBytes int           // bytes of replies a connection may leave unread
	IdleTimeout       time.Duration // an idle connection is closed after this time, 0 is never
	ShutdownGrace     time.Duration // time in which a node of a cluster serves its connections at shutdown, 0 is not at all
	ShutdownTimeout   time.Duration // how long open connections may take to drain at shutdown

	NodeID             string        // the node's name in its cluster
	ClusterListen      string        // HOST:PORT where other nodes connect, "" is no cluster
	ClusterAdvertise   string        // HOST:PORT where other nodes reach ClusterListen, "" is ClusterListen itself
	ClusterPeers       []string      // HOST:PORT of the nodes that form the cluster, this one among them
	BootstrapExpect    int           // nodes that have to meet before they form it, 0 is all of ClusterPeers
	ClusterImport      string        // data directory of a server alone whose state a new cluster begins with, "" is none
	Advertise          string        // HOST:PORT where clients reach this node, "" follows from Listen
	Groups             int           // of keys, that a cluster is formed with
	ClusterReplicas    int           // of each group of keys, in a new cluster; 0 for one on every node
	ClusterShared      []string      // patterns of keys whose limits requests of all groups may have in common
	Redirect           string        // forward or moved: the treatment of requests on a node that is not the leader
	DecideTimeout      time.Duration // an undecided request is answered CLUSTERDOWN after this time
	ClusterHeartbeat   time.Duration // a leader without messages for this time is replaced
	ClusterAhead       time.Duration // for which this node holds tokens of keys in demand, 0 is off
	ClusterLog         string        // stint or boltdb: what keeps the Raft log
	ClusterLogBytes    int64         // size beyond which the Raft log is cut off behind a snapshot
	ClusterDiskTimeout time.Duration // a leader whose disk takes longer gives up leadership
	ClusterSecret      string        // # and the SHA-256 of the secret, in hexadecimal digits; "" is none
	ClusterTLSCert     string        // files in PEM: this node's certificate, its key, and who signed the nodes'
	ClusterTLSKey      string
	ClusterTLSCA       string
	ClusterInsecure    bool // nodes talk without TLS

	Upstream             []string      // HOST:PORT of the home cluster's nodes, none is no home
	UpstreamKeys         []string      // patterns of the keys whose limits have their home there
	UpstreamUser         string        // that this server logs in as there, "" is the user default
	UpstreamPasswordFile string        // file of its password, "" is none
	UpstreamTLS          bool          // connect by TLS
	UpstreamTLSCA        string        // file of the CAs of home's certificate, "" is the system's
	UpstreamTimeout      time.Duration // of a request to home

	Admin         string // HOST:PORT of the HTTP server for operators, "" is off
	AdminToken    string // # and the SHA-256 of the password, in hexadecimal digits; "" is none
	AdminTLS      bool
	Pprof         bool   // it serves profiles
	WarnWebhook   string // URL of the webhook of warnings, "" for none
	TopKeys       string // plain, hashed or off: how the keys denied most are shown
	SlowlogMicros int    // commands that take longer are kept in SLOWLOG, -1 is none
	SlowlogLength int    // entries of SLOWLOG
	LatencyMillis int    // what takes longer is an event of LATENCY, 0 is nothing

	LogLevel  string // debug, info, warn or error
	LogFormat string // text or json
}

// PrefixQuota is the most keys that may begin with a prefix.
type PrefixQuota struct {
	Prefix  string
	MaxKeys int64
}

// The bounds of ClientMemory where ClientBytes does not name it.
const (
	clientMemoryShare = 16
	minClientMemory   = 8 << 20
	maxClientMemory   = 128 << 20
)

// ClientMemory is the most bytes that the buffers of all connections may take, where the process may take total.
func (c *Config) ClientMemory(total int64) int64 {
	if c.ClientBytes > 0 {
		return min(c.ClientBytes, total/maxClientShare)
	}
	return min(max(total/clientMemoryShare, minClientMemory), maxClientMemory)
}

// LoopCount is the number of event loops. By default it leaves one core to the kernel's network, the garbage collector, snapshots
// and, on a small machine, the clients: there, another loop costs more in wakes than it serves (decision 0027). The cores are
// those that a container may use.
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
		MaxBulkBytes:       64 << 10,
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
