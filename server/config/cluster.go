package config

import (
	"cmp"
	"net"
	"runtime"
	"slices"
	"strings"
	"time"
)

// clusterSettings make a server a node of a cluster. All of them need cluster-listen.
var clusterSettings = []Setting{
	{
		Name: "cluster-listen", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Be a node of a cluster, and accept connections from other nodes at this address. Needs --node-id, --cluster-peers and --dir.",
		value: func(c *Config) Value { return &textValue{&c.ClusterListen, addressForm} },
	},
	{
		Name: "node-id", Group: groupCluster, Placeholder: "NAME",
		Help:  "This node's unique name in the cluster. It is stored in --dir, and a start with another name is refused.",
		value: func(c *Config) Value { return &textValue{&c.NodeID, nodeNameForm} },
	},
	{
		Name: "cluster-peers", Group: groupCluster, Placeholder: "ADDRESSES",
		Help:  "HOST:PORT of every node of the cluster, including this node, separated by commas. Or a DNS name that has the addresses of all nodes; set --bootstrap-expect with it. May be repeated.",
		value: func(c *Config) Value { return &listValue{&c.ClusterPeers, nodesForm, MaxPeers} },
	},
	{
		Name: "bootstrap-expect", Group: groupCluster, Placeholder: "N",
		Help:  "Number of nodes that must be connected before they form the cluster; 0 means all of --cluster-peers. Must be the same on every node.",
		value: func(c *Config) Value { return &integer{&c.BootstrapExpect, 0, MaxPeers} },
	},
	{
		Name: "cluster-advertise", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Address at which other nodes reach this node. Needed if --cluster-listen is every interface, or if addresses are translated on the way. Default: --cluster-listen.",
		value: func(c *Config) Value { return &textValue{&c.ClusterAdvertise, peerForm} },
	},
	{
		Name: "advertise", Group: groupCluster, Placeholder: "HOST:PORT",
		Help:  "Address at which clients reach this node, which the cluster announces to them. Default: the first HOST:PORT of --listen, with the host of --cluster-advertise if --listen is every interface.",
		value: func(c *Config) Value { return &textValue{&c.Advertise, peerForm} },
	},
	{
		Name: "groups", Group: groupCluster, Placeholder: "N",
		Help:  "Number of Raft groups that divide the keys by their slots, so that several nodes lead; 1 means one leader for all keys. Several groups cost more CPU unless clients send each request to the leader of its key. Cannot be changed once the cluster has formed. Must be the same on every node.",
		value: func(c *Config) Value { return &integer{&c.Groups, 1, 64} },
	},
	{
		Name: "cluster-replicas", Group: groupCluster, Placeholder: "R",
		Help:  "With --groups: number of nodes that store each group of keys, 3 or 5; every node still answers requests for all keys. 0 means all nodes. Cannot be changed once the cluster has formed. Must be the same on every node.",
		value: func(c *Config) Value { return &integer{&c.ClusterReplicas, 0, 5} },
	},
	{
		Name: "cluster-shared", Group: groupCluster, Placeholder: "PATTERNS",
		Help:  "With --groups: keys whose limits RL.ALL and RL.CHECK may combine with limits of any group. Patterns in the syntax of KEYS, separated by commas, such as global:*. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.ClusterShared, patternsForm, maxPatterns} },
	},
	{
		Name: "redirect", Group: groupCluster, Placeholder: "MODE",
		Help:  "What a node that is not the leader does with requests: forward sends them to the leader, moved redirects the client with MOVED.",
		value: func(c *Config) Value { return &word{&c.Redirect, []string{"forward", "moved"}} },
	},
	{
		Name: "decide-timeout", Group: groupCluster, Placeholder: "DURATION",
		Help:  "Time after which an undecided request gets the error CLUSTERDOWN, or UNCERTAIN if it may still be decided.",
		value: func(c *Config) Value { return &period{&c.DecideTimeout, 10 * time.Millisecond, time.Minute} },
	},
	{
		Name: "shutdown-grace", Group: groupCluster, Placeholder: "DURATION", Mutable: true,
		Help:  "At shutdown, how long a node still serves its connections. 0 means not at all.",
		value: func(c *Config) Value { return &duration{&c.ShutdownGrace, time.Hour, "not at all"} },
	},
	{
		Name: "cluster-heartbeat", Group: groupCluster, Placeholder: "DURATION",
		Help:  "Time without a message from the leader after which the other nodes elect a new leader. Raise it on slow links. Must be the same on every node.",
		value: func(c *Config) Value { return &period{&c.ClusterHeartbeat, 50 * time.Millisecond, 10 * time.Second} },
	},
	{
		Name: "cluster-disk-timeout", Group: groupCluster, Placeholder: "DURATION",
		Help:  "A leader steps down if one write to its disk takes longer than this.",
		value: func(c *Config) Value { return &period{&c.ClusterDiskTimeout, 100 * time.Millisecond, time.Minute} },
	},
	{
		Name: "cluster-log", Group: groupCluster, Placeholder: "STORE",
		Help:  "Storage of the Raft log in --dir: stint, or boltdb, which is slower. Cannot be changed for an existing directory, but may differ between nodes.",
		value: func(c *Config) Value { return &word{&c.ClusterLog, []string{"stint", "boltdb"}} },
	},
	{
		Name: "cluster-log-size", Group: groupCluster, Placeholder: "SIZE",
		Help:  "A Raft log larger than this is truncated after a snapshot.",
		value: func(c *Config) Value { return &size[int64]{&c.ClusterLogBytes, 1 << 20, 1 << 40, ""} },
	},
	{
		Name: "cluster-ahead", Group: groupCluster, Placeholder: "DURATION", Mutable: true,
		Help:  "A node sets aside tokens of busy keys, and then grants requests from them in memory. Each time, it sets aside enough for this duration, but at most an eighth of the remaining tokens. 0 turns this off.",
		value: func(c *Config) Value { return &duration{&c.ClusterAhead, 5 * time.Second, "off"} },
	},
	{
		Name: "cluster-import", Group: groupCluster, Placeholder: "PATH",
		Help:  "Start a new cluster with the state of a standalone server from this directory, or with a backup from this file. Set it on only one of the nodes that form the cluster.",
		value: func(c *Config) Value { return &textValue{&c.ClusterImport, pathForm} },
	},
	{
		Name: "cluster-secret", Group: groupCluster, Placeholder: "SECRET",
		Help:  "Nodes use TLS and accept only nodes that have the same secret of 32 or more random characters. Use this instead of certificates.",
		value: func(c *Config) Value { return &joinSecret{secret{&c.ClusterSecret}} },
	},
	{
		Name: "cluster-tls-cert", Group: groupCluster, Placeholder: "FILE",
		Help:  "This node's certificate for the other nodes, in PEM. Nodes use TLS if this, --cluster-tls-key and --cluster-tls-ca are set.",
		value: func(c *Config) Value { return &textValue{&c.ClusterTLSCert, pathForm} },
	},
	{
		Name: "cluster-tls-key", Group: groupCluster, Placeholder: "FILE",
		Help:  "The private key of --cluster-tls-cert, in PEM.",
		value: func(c *Config) Value { return &textValue{&c.ClusterTLSKey, pathForm} },
	},
	{
		Name: "cluster-tls-ca", Group: groupCluster, Placeholder: "FILE",
		Help:  "The CA certificates that sign the nodes' certificates, in PEM. Peers with other certificates are rejected. A changed file applies to new connections.",
		value: func(c *Config) Value { return &textValue{&c.ClusterTLSCA, pathForm} },
	},
	{
		Name: "cluster-insecure", Group: groupCluster, Placeholder: "YES",
		Help:  "Allow nodes to communicate without TLS although --cluster-listen is not a loopback address. Anyone who reaches that address can then read and change the limits.",
		value: func(c *Config) Value { return &toggle{&c.ClusterInsecure} },
	},
}

// PeerAddress is the address at which other nodes reach this one.
func (c *Config) PeerAddress() string {
	if c.ClusterAdvertise != "" {
		return c.ClusterAdvertise
	}
	return c.ClusterListen
}

// ClientAddress is the address that the cluster announces to clients for this node, "" if it only listens on unix
// sockets. It comes from the settings, so a port of 0 cannot be announced.
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

// AnnouncedAdmin is the address at which other nodes' pages can link to this node's page, which listens at address. It
// is "" if only this machine can reach the page, and other nodes are on other machines.
func (c *Config) AnnouncedAdmin(address string) string {
	peer, _, _ := net.SplitHostPort(c.PeerAddress())
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil || isLoopback(host) && !isLoopback(peer):
		return ""
	case isEveryInterface(host):
		host = peer
	}
	return net.JoinHostPort(host, port)
}

// samePeer reports whether two addresses of nodes are the same.
func samePeer(a, b string) bool {
	if isPeerName(a) || isPeerName(b) {
		return a == b
	}
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && sameHost(strings.ToLower(hostA), strings.ToLower(hostB))
}

// checkCluster checks that a node has the settings it needs, and that a standalone server has none of them.
func checkCluster(c *Config) error {
	if !c.IsCluster() {
		return checkStandalone(c)
	}
	switch {
	case runtime.GOOS == "windows": // where the files that a node has open cannot be renamed
		return conflictf("--cluster-listen does not work on Windows: start the nodes of a cluster on Linux or macOS")
	case c.NodeID == "":
		return conflictf("--cluster-listen needs a name for this node: give it one with --node-id")
	case c.Dir == "":
		return conflictf("--cluster-listen needs a directory for this node's part of the cluster: name one with --dir")
	case c.Policies != "":
		return conflictf("--policies (%s) is for a standalone server: leave it out, and set the policies of a cluster with 'stint policy apply --prune %s'", c.Policies, c.Policies)
	case len(c.ClusterPeers) == 0:
		return conflictf("--cluster-listen needs the addresses of the nodes: list them with --cluster-peers, this one (%s) among them", c.PeerAddress())
	}
	for _, check := range []func(*Config) error{checkPeers, checkClusterPorts, checkUnused, checkPeerTLS, checkClientAddress} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// checkStandalone refuses settings that only apply to a cluster.
func checkStandalone(c *Config) error {
	if s := firstGiven(c, clusterSettings); s != nil {
		return conflictf("--%s is a setting of a cluster's node: make this server one with --cluster-listen, or leave --%s out", s.Name, s.Name)
	}
	return nil
}

func checkPeers(c *Config) error {
	self := c.PeerAddress()
	host, port, _ := net.SplitHostPort(self)
	switch {
	case isEveryInterface(host):
		return conflictf("--cluster-listen (%s) means every interface, which other nodes cannot dial: set --cluster-advertise to an address that they can reach", self)
	case port == "0":
		return conflictf("--cluster-listen (%s) needs a fixed port for other nodes: use one that is not 0", self)
	}
	for i, p := range c.ClusterPeers {
		if slices.ContainsFunc(c.ClusterPeers[:i], func(before string) bool { return samePeer(before, p) }) {
			return conflictf("--cluster-peers names %s twice: remove one of them", p)
		}
	}
	if slices.ContainsFunc(c.ClusterPeers, isPeerName) {
		if c.BootstrapExpect == 0 {
			return conflictf("--cluster-peers (%s) has a name, whose addresses may change: set --bootstrap-expect to the number of nodes that form the cluster", strings.Join(c.ClusterPeers, ","))
		}
		return nil
	}
	if !slices.Contains(c.ClusterPeers, self) { // compared as text, because nodes identify each other by the text
		return conflictf("--cluster-peers (%s) does not name this node, which others reach at %s: add it, or correct --cluster-advertise", strings.Join(c.ClusterPeers, ","), self)
	}
	switch n, expect := len(c.ClusterPeers), c.BootstrapExpect; {
	case expect > n:
		return conflictf("--bootstrap-expect (%d) is more than --cluster-peers names (%d): the cluster would never form; lower it, or add nodes", expect, n)
	case expect > 0 && expect <= n/2:
		return conflictf("--bootstrap-expect (%d) is not a majority of the %d --cluster-peers, so two clusters could form: make it at least %d", expect, n, n/2+1)
	}
	return nil
}

func checkClusterPorts(c *Config) error {
	return checkPorts(c, "--cluster-listen", []string{c.ClusterListen}, slices.Concat(c.Listen, c.TLSListen, c.HTTPAddresses(), c.GRPCAddresses()))
}

// checkUnused refuses settings that have no effect in this cluster.
func checkUnused(c *Config) error {
	defaults := Default()
	switch {
	case c.Durability != defaults.Durability:
		return conflictf("--durability (%s) has no meaning in a cluster, where every grant is on the disks of a majority before it is answered: leave it out", c.Durability)
	case c.SnapshotEvery != defaults.SnapshotEvery:
		return conflictf("--snapshot-every has no meaning in a cluster, where the size of the Raft log calls for snapshots: leave it out, or set --cluster-log-size")
	case c.JournalBytes != defaults.JournalBytes:
		return conflictf("--journal-size has no meaning in a cluster, which keeps a Raft log instead of a journal: set --cluster-log-size instead")
	case c.Repair:
		return conflictf("--repair has no meaning in a cluster: empty the directory of a damaged node, and it gets its state from the others")
	case c.Rewind && c.ClusterImport == "":
		return conflictf("--rewind has no meaning for a node, whose time is the cluster's: leave --rewind out, or start a new cluster from a backup, with --cluster-import and --rewind")
	case c.Groups < 2 && len(c.ClusterShared) > 0:
		return conflictf("--cluster-shared (%s) has no meaning with one group, because that group has all keys: set --groups, or leave --cluster-shared out", strings.Join(c.ClusterShared, ","))
	case c.Groups < 2 && c.ClusterReplicas > 0:
		return conflictf("--cluster-replicas (%d) has no meaning with one group, which is on every node: set --groups, or leave --cluster-replicas out", c.ClusterReplicas)
	case c.ClusterReplicas == 1 || c.ClusterReplicas%2 == 0 && c.ClusterReplicas > 0:
		return conflictf("--cluster-replicas (%d) must be 3 or 5, or 0 for all nodes: %[1]d replicas survive no more failures than one replica fewer", c.ClusterReplicas)
	case c.ClusterReplicas > formingNodes(c):
		return conflictf("--cluster-replicas (%d) is more than the nodes that form the cluster (%d): name more in --cluster-peers and raise --bootstrap-expect, or lower it", c.ClusterReplicas, formingNodes(c))
	case c.ClusterImport != "" && c.ClusterImport == c.Dir:
		return conflictf("--cluster-import and --dir are the same directory (%s): give the node another directory", c.Dir)
	}
	return nil
}

// formingNodes is the least number of nodes that form the cluster.
func formingNodes(c *Config) int { return cmp.Or(c.BootstrapExpect, len(c.ClusterPeers)) }

func checkPeerTLS(c *Config) error {
	given := 0
	for _, file := range []string{c.ClusterTLSCert, c.ClusterTLSKey, c.ClusterTLSCA} {
		if file != "" {
			given++
		}
	}
	switch {
	case c.ClusterSecret != "" && given > 0:
		return conflictf("--cluster-secret and --cluster-tls-cert, --cluster-tls-key or --cluster-tls-ca both say how nodes authenticate each other: leave one of them out")
	case c.ClusterSecret != "" && c.ClusterInsecure:
		return conflictf("--cluster-insecure is for nodes without TLS, but --cluster-secret gives them TLS: leave one of them out")
	case c.ClusterSecret != "":
		return nil
	case given == 3 && c.ClusterInsecure:
		return conflictf("--cluster-insecure is for nodes without TLS, but --cluster-tls-cert names a certificate: leave one of them out")
	case given == 3:
		return nil
	case given > 0:
		return conflictf("--cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca belong together: give all three")
	case c.ClusterInsecure:
		return nil
	}
	for _, a := range []string{c.ClusterListen, c.PeerAddress()} {
		if host, _, _ := net.SplitHostPort(a); !isLoopback(host) {
			return conflictf("other machines can reach %s, so nodes must authenticate each other: give all of them the same --cluster-secret, or certificates by --cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca, "+
				"or set --cluster-insecure if only nodes can reach that address", a)
		}
	}
	return nil
}

func checkClientAddress(c *Config) error {
	if c.ClientAddress() == "" {
		return conflictf("--listen has only unix sockets, which clients on other machines cannot reach: set --advertise to an address that they can")
	}
	return nil
}
