package config

import (
	"net"
	"slices"
	"strings"
	"time"
)

// clusterSettings make a server a node of a cluster: all of them rest on cluster-listen.
var clusterSettings = []Setting{
	{
		Name: "cluster-listen", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Be a node of a cluster, and let the other nodes connect here. Needs --node-id, --cluster-peers and --dir.",
		value: func(c *Config) Value { return &address{&c.ClusterListen} },
	},
	{
		Name: "node-id", Group: groupCluster, Placeholder: "NAME",
		Help:  "This node's name in the cluster, unlike every other's. It stays with --dir.",
		value: func(c *Config) Value { return &name{&c.NodeID} },
	},
	{
		Name: "cluster-peers", Group: groupCluster, Placeholder: "ADDRESSES",
		Help:  "HOST:PORT where the nodes of the cluster reach each other, this one among them, separated by commas. May be repeated.",
		value: func(c *Config) Value { return &peers{&c.ClusterPeers} },
	},
	{
		Name: "bootstrap-expect", Group: groupCluster, Placeholder: "N",
		Help:  "Nodes that have to meet before they form the cluster, once; 0 is all of --cluster-peers. Say the same on every node.",
		value: func(c *Config) Value { return &integer{&c.BootstrapExpect, 0, MaxPeers} },
	},
	{
		Name: "cluster-advertise", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Where other nodes reach --cluster-listen, if that is every interface or behind a translated address. Default: --cluster-listen.",
		value: func(c *Config) Value { return &peer{&c.ClusterAdvertise} },
	},
	{
		Name: "advertise", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Where clients reach this node, as the cluster tells them. Default: the first HOST:PORT of --listen, with the host of --cluster-advertise if that is every interface.",
		value: func(c *Config) Value { return &peer{&c.Advertise} },
	},
	{
		Name: "redirect", Group: groupCluster, Placeholder: "MODE",
		Help:  "What a node that is not the leader does with a request: forward asks the leader for it, moved sends the client there with MOVED.",
		value: func(c *Config) Value { return &word{&c.Redirect, []string{"forward", "moved"}} },
	},
	{
		Name: "decide-timeout", Group: groupCluster, Placeholder: "DURATION",
		Help:  "A request that no leader has decided for so long is answered CLUSTERDOWN, or UNCERTAIN if it may yet be.",
		value: func(c *Config) Value { return &period{&c.DecideTimeout, 10 * time.Millisecond, time.Minute} },
	},
	{
		Name: "shutdown-grace", Group: groupCluster, Placeholder: "DURATION", Mutable: true,
		Help:  "How long a node that is told to end still answers the clients it has: it closes a connection once it has answered a limiter command on it, and then those that are left. 0 is not at all.",
		value: func(c *Config) Value { return &duration{&c.ShutdownGrace, time.Hour, "not at all"} },
	},
	{
		Name: "cluster-heartbeat", Group: groupCluster, Placeholder: "DURATION",
		Help:  "A leader that has been silent for so long is replaced. Longer for links that are slow. Say the same on every node.",
		value: func(c *Config) Value { return &period{&c.ClusterHeartbeat, 50 * time.Millisecond, 10 * time.Second} },
	},
	{
		Name: "cluster-disk-timeout", Group: groupCluster, Placeholder: "DURATION",
		Help:  "A leader whose disk takes longer for one write gives up leadership.",
		value: func(c *Config) Value { return &period{&c.ClusterDiskTimeout, 100 * time.Millisecond, time.Minute} },
	},
	{
		Name: "cluster-log-size", Group: groupCluster, Placeholder: "SIZE",
		Help:  "A Raft log larger than this is cut off behind a snapshot.",
		value: func(c *Config) Value { return &size[int64]{&c.ClusterLogBytes, 1 << 20, 1 << 40, ""} },
	},
	{
		Name: "cluster-import", Group: groupCluster, Placeholder: "PATH",
		Help:  "Begin a new cluster with the state that a server alone kept in this directory. Say so on one node only.",
		value: func(c *Config) Value { return &path{&c.ClusterImport} },
	},
	{
		Name: "cluster-tls-cert", Group: groupCluster, Placeholder: "FILE",
		Help:  "This node's certificate for the other nodes, in PEM. Nodes talk TLS if this, --cluster-tls-key and --cluster-tls-ca are given.",
		value: func(c *Config) Value { return &path{&c.ClusterTLSCert} },
	},
	{
		Name: "cluster-tls-key", Group: groupCluster, Placeholder: "FILE",
		Help:  "The private key of --cluster-tls-cert, in PEM.",
		value: func(c *Config) Value { return &path{&c.ClusterTLSKey} },
	},
	{
		Name: "cluster-tls-ca", Group: groupCluster, Placeholder: "FILE",
		Help:  "The certificates of who signs the nodes' certificates, in PEM. Whoever shows another is no node.",
		value: func(c *Config) Value { return &path{&c.ClusterTLSCA} },
	},
	{
		Name: "cluster-insecure", Group: groupCluster, Placeholder: "YES",
		Help:  "Let nodes talk without TLS although --cluster-listen is not a loopback address: whoever reaches it can read and change the limits.",
		value: func(c *Config) Value { return &toggle{&c.ClusterInsecure} },
	},
}

// MaxPeers bounds the nodes of a cluster.
const MaxPeers = 64

// IsCluster reports whether the server is a node of a cluster.
func (c *Config) IsCluster() bool { return c.ClusterListen != "" }

// PeerAddress is where other nodes reach this one.
func (c *Config) PeerAddress() string {
	if c.ClusterAdvertise != "" {
		return c.ClusterAdvertise
	}
	return c.ClusterListen
}

// ClientAddress is where clients reach this node, as the other nodes tell them; "" if it only listens on unix sockets.
// Listen is used as it was when the server was started: a port of 0 is no address anybody could be told.
func (c *Config) ClientAddress() string {
	if c.Advertise != "" {
		return c.Advertise
	}
	for _, a := range c.Listen {
		network, address := SplitAddress(a)
		host, port, err := net.SplitHostPort(address)
		if network == "unix" || err != nil {
			continue
		}
		if isEveryInterface(host) {
			host, _, _ = net.SplitHostPort(c.PeerAddress())
		}
		return net.JoinHostPort(host, port)
	}
	return ""
}

func isEveryInterface(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// samePeer reports whether two addresses of nodes are the same.
func samePeer(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && sameHost(strings.ToLower(hostA), strings.ToLower(hostB))
}

// checkCluster holds a node to what it needs, and a server alone to do without.
func checkCluster(c *Config) error {
	if !c.IsCluster() {
		return checkAlone(c)
	}
	switch {
	case c.NodeID == "":
		return contradictf("cluster-listen needs a name for this node: give it one with node-id")
	case c.Dir == "":
		return contradictf("cluster-listen needs a directory for this node's part of the cluster: name one with dir")
	case len(c.ClusterPeers) == 0:
		return contradictf("cluster-listen needs the addresses of the nodes: list them with cluster-peers, this one (%s) among them", c.PeerAddress())
	}
	for _, check := range []func(*Config) error{checkPeers, checkClusterPorts, checkMeaningless, checkPeerTLS, checkClientAddress} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// checkAlone refuses settings that are only good in a cluster.
func checkAlone(c *Config) error {
	defaults := Default()
	for i := range clusterSettings {
		s := &clusterSettings[i]
		if s.Get(c) != s.Get(&defaults) {
			return contradictf("%s is a setting of a cluster's node: make this server one with cluster-listen, or leave %s out", s.Name, s.Name)
		}
	}
	return nil
}

func checkPeers(c *Config) error {
	self := c.PeerAddress()
	host, port, _ := net.SplitHostPort(self)
	switch {
	case isEveryInterface(host):
		return contradictf("cluster-listen (%s) is every interface, which is no address other nodes could be told: say with cluster-advertise where they reach this one", self)
	case port == "0":
		return contradictf("cluster-listen (%s) needs a port other nodes can be told: give it one that is not 0", self)
	}
	for i, p := range c.ClusterPeers {
		if slices.ContainsFunc(c.ClusterPeers[:i], func(before string) bool { return samePeer(before, p) }) {
			return contradictf("cluster-peers names %s twice: remove one of them", p)
		}
	}
	if !slices.Contains(c.ClusterPeers, self) { // letter by letter: it is what the nodes know each other by
		return contradictf("cluster-peers (%s) does not name this node, which others reach at %s: add it, or correct cluster-advertise", strings.Join(c.ClusterPeers, ","), self)
	}
	switch n, expect := len(c.ClusterPeers), c.BootstrapExpect; {
	case expect > n:
		return contradictf("bootstrap-expect (%d) is more than cluster-peers names (%d): the cluster would never be formed", expect, n)
	case expect > 0 && expect <= n/2:
		return contradictf("bootstrap-expect (%d) is no majority of the %d cluster-peers: two clusters could be formed; make it at least %d", expect, n, n/2+1)
	}
	return nil
}

func checkClusterPorts(c *Config) error {
	for _, a := range c.Listen {
		if overlap(a, c.ClusterListen) {
			return contradictf("cluster-listen (%s) takes the same port as listen (%s): give it a port of its own", c.ClusterListen, a)
		}
	}
	if c.AdminAddress() != "" && overlap(c.Admin, c.ClusterListen) {
		return contradictf("cluster-listen (%s) takes the same port as admin (%s): give it a port of its own", c.ClusterListen, c.Admin)
	}
	return nil
}

// checkMeaningless refuses what governs the files of a server alone.
func checkMeaningless(c *Config) error {
	defaults := Default()
	switch {
	case c.Durability != defaults.Durability:
		return contradictf("durability (%s) has no meaning in a cluster, where every grant is on the disks of a majority before it is answered: leave it out", c.Durability)
	case c.SnapshotEvery != defaults.SnapshotEvery:
		return contradictf("snapshot-every has no meaning in a cluster, where the size of the Raft log calls for snapshots: leave it out, or set cluster-log-size")
	case c.JournalBytes != defaults.JournalBytes:
		return contradictf("journal-size has no meaning in a cluster, which keeps a Raft log in place of a journal: set cluster-log-size instead")
	case c.Repair:
		return contradictf("repair has no meaning in a cluster: empty the directory of a damaged node, and it gets its state from the others")
	case c.ClusterImport != "" && c.ClusterImport == c.Dir:
		return contradictf("cluster-import and dir are the same directory (%s): give the node a directory of its own", c.Dir)
	}
	return nil
}

func checkPeerTLS(c *Config) error {
	given := 0
	for _, file := range []string{c.ClusterTLSCert, c.ClusterTLSKey, c.ClusterTLSCA} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 3 && c.ClusterInsecure:
		return contradictf("cluster-insecure is for nodes without TLS, but cluster-tls-cert names a certificate: leave one of them out")
	case given == 3:
		return nil
	case given > 0:
		return contradictf("cluster-tls-cert, cluster-tls-key and cluster-tls-ca belong together: give all three")
	case c.ClusterInsecure:
		return nil
	}
	for _, a := range []string{c.ClusterListen, c.PeerAddress()} {
		if host, _, _ := net.SplitHostPort(a); !isLoopback(host) {
			return contradictf("other machines can reach %s, so nodes must know each other by certificates: give cluster-tls-cert, cluster-tls-key and cluster-tls-ca, "+
				"or say cluster-insecure if only nodes can reach that address", a)
		}
	}
	return nil
}

func checkClientAddress(c *Config) error {
	if c.ClientAddress() == "" {
		return contradictf("listen names unix sockets only, where clients on other machines can't be sent: say with advertise where they reach this node")
	}
	return nil
}
