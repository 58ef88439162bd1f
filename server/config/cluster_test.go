package config

import (
	"strings"
	"testing"
)

// node returns the settings of a node of a cluster.
func node() Config {
	c := Default()
	c.NodeID, c.Dir, c.ClusterListen = "a", "data", "127.0.0.1:7379"
	c.ClusterPeers = []string{"127.0.0.1:7379", "127.0.0.1:7380", "127.0.0.1:7381"}
	return c
}

func TestClusterContradictions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		says   []string
	}{
		{"no name", func(c *Config) { c.NodeID = "" }, []string{"--node-id"}},
		{"no directory", func(c *Config) { c.Dir = "" }, []string{"name one with --dir"}},
		{"no peers", func(c *Config) { c.ClusterPeers = nil }, []string{"--cluster-peers", "127.0.0.1:7379"}},
		{"peers without itself", func(c *Config) { c.ClusterListen = "127.0.0.1:7399" }, []string{"does not name this node", "127.0.0.1:7399", "--cluster-advertise"}},
		{"itself by another name", func(c *Config) { c.ClusterPeers[0] = "localhost:7379" }, []string{"does not name this node", "127.0.0.1:7379"}},
		{"advertised as another", func(c *Config) { c.ClusterAdvertise = "127.0.0.1:1" }, []string{"reach at 127.0.0.1:1"}},
		{"a peer twice", func(c *Config) { c.ClusterPeers[2] = "localhost:7379" }, []string{"names localhost:7379 twice"}},
		{"a name and no number", func(c *Config) { c.ClusterPeers = []string{"dns:nodes:7379"} }, []string{"--cluster-peers (dns:nodes:7379)", "--bootstrap-expect"}},
		{"a name twice", func(c *Config) { c.ClusterPeers = []string{"srv:a", "srv:b", "srv:a"} }, []string{"names srv:a twice"}},
		{"every interface", func(c *Config) { c.ClusterListen = ":7379" }, []string{"every interface", "--cluster-advertise"}},
		{"any port", func(c *Config) { c.ClusterListen = "127.0.0.1:0" }, []string{"not 0"}},
		{"expects too many", func(c *Config) { c.BootstrapExpect = 4 }, []string{"--bootstrap-expect (4)", "(3)"}},
		{"expects too few", func(c *Config) { c.BootstrapExpect = 1 }, []string{"not a majority", "at least 2"}},
		{"port of clients", func(c *Config) { c.Listen = []string{"127.0.0.1:7379"} }, []string{"--cluster-listen (127.0.0.1:7379) takes the same port as 127.0.0.1:7379"}},
		{"port of HTTP", func(c *Config) { c.HTTPListen = []string{":7379"} }, []string{"--cluster-listen (127.0.0.1:7379) takes the same port as :7379"}},
		{"port of operators", func(c *Config) { c.Admin = ":7379" }, []string{"takes the same port as --cluster-listen"}},
		{"durability", func(c *Config) { c.Durability = "always" }, []string{"--durability (always)", "no meaning in a cluster"}},
		{"snapshots", func(c *Config) { c.SnapshotEvery = 0 }, []string{"--snapshot-every", "--cluster-log-size"}},
		{"journal", func(c *Config) { c.JournalBytes = 1 << 30 }, []string{"--journal-size", "--cluster-log-size"}},
		{"a secret and certificates", func(c *Config) { c.ClusterSecret, c.ClusterTLSCert = "#"+strings.Repeat("0", 64), "a" }, []string{"--cluster-secret", "leave one"}},
		{"a secret and nothing secret", func(c *Config) { c.ClusterSecret, c.ClusterInsecure = "#"+strings.Repeat("0", 64), true }, []string{"--cluster-insecure", "leave one"}},
		{"rewind", func(c *Config) { c.Rewind = true }, []string{"rewind", "--cluster-import"}},
		{"repair", func(c *Config) { c.Repair = true }, []string{"repair", "empty the directory"}},
		{"shared keys of one group", func(c *Config) { c.ClusterShared = []string{"global:*"} }, []string{"--cluster-shared (global:*)", "groups"}},
		{"replicas of one group", func(c *Config) { c.ClusterReplicas = 3 }, []string{"--cluster-replicas (3)", "groups"}},
		{"an even number of replicas", func(c *Config) { c.Groups, c.ClusterReplicas = 4, 2 }, []string{"--cluster-replicas (2)", "3 or 5"}},
		{"more replicas than nodes", func(c *Config) { c.Groups, c.ClusterReplicas = 4, 5 }, []string{"--cluster-replicas (5)", "--cluster-peers"}},
		{"a limit with two homes", func(c *Config) {
			c.Groups, c.ClusterShared, c.Upstream, c.UpstreamKeys = 4, []string{"all:*", "global:*"}, []string{"a:1"}, []string{"world:*", "glob*"}
		}, []string{"--cluster-shared (global:*)", "--upstream-keys (glob*)", "begin with different text"}},
		{"imports itself", func(c *Config) { c.ClusterImport = "data" }, []string{"--cluster-import", "another directory"}},
		{"no TLS", func(c *Config) {
			c.ClusterListen, c.ClusterPeers = "10.0.0.7:7379", []string{"10.0.0.7:7379", "10.0.0.8:7379", "10.0.0.9:7379"}
		}, []string{"10.0.0.7:7379", "--cluster-secret", "--cluster-tls-cert", "--cluster-insecure"}},
		{"no TLS behind another name", func(c *Config) {
			c.ClusterAdvertise = "stint-1:7379"
			c.ClusterPeers[0] = "stint-1:7379"
		}, []string{"stint-1:7379", "--cluster-insecure"}},
		{"half of TLS", func(c *Config) { c.ClusterTLSCert = "cert.pem" }, []string{"give all three"}},
		{"TLS and none", func(c *Config) {
			c.ClusterTLSCert, c.ClusterTLSKey, c.ClusterTLSCA, c.ClusterInsecure = "a", "b", "c", true
		}, []string{"--cluster-insecure", "leave one of them out"}},
		{"nowhere to send clients", func(c *Config) { c.Listen = []string{"unix:/run/s.sock"} }, []string{"advertise"}},
		{"no cluster", func(c *Config) { c.ClusterListen = "" }, []string{"--node-id is a setting of a cluster's node", "--cluster-listen"}},
		{"redirect without a cluster", func(c *Config) { *c = Default(); c.Redirect = "moved" }, []string{"--redirect is a setting"}},
	} {
		c := node()
		tc.change(&c)
		checkConflict(t, tc.name, c.Check(), tc.says)
	}
}

func TestNodesThatAreFine(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"as it is":           func(*Config) {},
		"expects a majority": func(c *Config) { c.BootstrapExpect = 2 },
		"groups with a home elsewhere": func(c *Config) {
			c.Groups, c.ClusterReplicas, c.ClusterShared, c.Upstream, c.UpstreamKeys = 4, 3, []string{"all:*"}, []string{"a:1"}, []string{"g:*"}
		},
		"in a container": func(c *Config) {
			c.ClusterListen, c.ClusterAdvertise, c.ClusterInsecure = ":7379", "stint-1:7379", true
			c.ClusterPeers = []string{"stint-1:7379", "stint-2:7379", "stint-3:7379"}
		},
		"with TLS": func(c *Config) {
			c.ClusterListen, c.ClusterTLSCert, c.ClusterTLSKey, c.ClusterTLSCA = "10.0.0.7:7379", "a", "b", "c"
			c.ClusterPeers = []string{"10.0.0.7:7379"}
		},
		"with a secret": func(c *Config) {
			c.ClusterListen, c.ClusterSecret, c.ClusterPeers = "10.0.0.7:7379", "#"+strings.Repeat("0", 64), []string{"10.0.0.7:7379"}
		},
		"on a socket": func(c *Config) { c.Listen, c.Advertise = []string{"unix:/run/s.sock"}, "10.0.0.7:6379" },
	} {
		c := node()
		change(&c)
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhereOthersReachANode(t *testing.T) {
	for _, tc := range []struct {
		listen                 []string
		advertise, advertised  string
		wantClients, wantPeers string
	}{
		{[]string{"127.0.0.1:6379"}, "", "", "127.0.0.1:6379", "127.0.0.1:7379"},
		{[]string{"unix:/s", "127.0.0.1:6380"}, "", "", "127.0.0.1:6380", "127.0.0.1:7379"},
		{[]string{":6379"}, "", "stint-1:7379", "stint-1:6379", "stint-1:7379"},
		{[]string{"[::]:6379"}, "", "[fe80::1]:7379", "[fe80::1]:6379", "[fe80::1]:7379"},
		{[]string{":6379"}, "example.com:16379", "stint-1:7379", "example.com:16379", "stint-1:7379"},
		{[]string{"unix:/s"}, "", "", "", "127.0.0.1:7379"},
	} {
		c := node()
		c.Listen, c.Advertise, c.ClusterAdvertise = tc.listen, tc.advertise, tc.advertised
		if clients, peers := c.ClientAddress(), c.PeerAddress(); clients != tc.wantClients || peers != tc.wantPeers {
			t.Errorf("%v: clients %s, peers %s, want %s and %s", tc, clients, peers, tc.wantClients, tc.wantPeers)
		}
	}
}

func TestWhereOthersReachThePage(t *testing.T) {
	for _, tc := range []struct{ advertised, admin, want string }{
		{"", "127.0.0.1:6380", "127.0.0.1:6380"}, // all nodes on one machine
		{"stint-1:7379", "127.0.0.1:6380", ""},
		{"stint-1:7379", "10.0.0.7:6380", "10.0.0.7:6380"},
		{"stint-1:7379", "[::]:6380", "stint-1:6380"},
		{"stint-1:7379", "", ""},
	} {
		c := node()
		c.ClusterAdvertise = tc.advertised
		if got := c.AnnouncedAdmin(tc.admin); got != tc.want {
			t.Errorf("%v: %s, want %s", tc, got, tc.want)
		}
	}
}
