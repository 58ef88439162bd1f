package config

import (
	"strings"
	"time"

	"github.com/stintdb/stint/engine/glob"
)

// upstreamSettings are about the cluster that is the home of some keys' limits. All of them need upstream.
var upstreamSettings = []Setting{
	{
		Name: "upstream", Group: groupUpstream, Placeholder: "ADDRESSES",
		Help:  "Home cluster of the limits of --upstream-keys, which lends their tokens to this server: HOST:PORT of its nodes, or of a single server, separated by commas. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.Upstream, peersForm, MaxPeers} },
	},
	{
		Name: "upstream-keys", Group: groupUpstream, Placeholder: "PATTERNS",
		Help:  "Patterns in the syntax of KEYS, separated by commas: the keys whose limits are decided by the home cluster. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.UpstreamKeys, patternsForm, maxPatterns} },
	},
	{
		Name: "upstream-user", Group: groupUpstream, Placeholder: "NAME",
		Help:  "User as which this server logs in to the home cluster. By default, the user default, with a password if --upstream-password-file names one.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamUser, nodeNameForm} },
	},
	{
		Name: "upstream-password-file", Group: groupUpstream, Placeholder: "FILE",
		Help:  "File with the password for the home cluster in its first line.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamPasswordFile, pathForm} },
	},
	{
		Name: "upstream-tls", Group: groupUpstream, Placeholder: "YES",
		Help:  "Connect to the home cluster by TLS.",
		value: func(c *Config) Value { return &toggle{&c.UpstreamTLS} },
	},
	{
		Name: "upstream-tls-ca", Group: groupUpstream, Placeholder: "FILE",
		Help:  "With --upstream-tls: CA certificates that sign the home cluster's certificate, in PEM. A changed file applies to new connections. Default: the system's CAs.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamTLSCA, pathForm} },
	},
	{
		Name: "upstream-timeout", Group: groupUpstream, Placeholder: "DURATION",
		Help:  "Time after which a request that needs the home cluster gets the error UPSTREAM, or UNCERTAIN if it may have been granted there.",
		value: func(c *Config) Value { return &period{&c.UpstreamTimeout, 10 * time.Millisecond, time.Minute} },
	},
}

// HasUpstream reports whether the home of some limits is another cluster.
func (c *Config) HasUpstream() bool { return len(c.Upstream) > 0 }

func checkUpstream(c *Config) error {
	if !c.HasUpstream() {
		if s := firstGiven(c, upstreamSettings); s != nil {
			return conflictf("--%s is about the cluster of --upstream: name its addresses there, or leave --%s out", s.Name, s.Name)
		}
		return nil
	}
	switch {
	case len(c.UpstreamKeys) == 0:
		return conflictf("--upstream needs the keys whose limits have their home there: name their patterns with --upstream-keys")
	case c.UpstreamUser != "" && c.UpstreamPasswordFile == "":
		return conflictf("--upstream-user (%s) needs a password: name its file with --upstream-password-file", c.UpstreamUser)
	case c.UpstreamTLSCA != "" && !c.UpstreamTLS:
		return conflictf("--upstream-tls-ca is for --upstream-tls: set that to yes, or leave --upstream-tls-ca out")
	}
	for _, shared := range c.ClusterShared {
		for _, home := range c.UpstreamKeys {
			if a, b := glob.Prefix(shared), glob.Prefix(home); strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
				return conflictf("--cluster-shared (%s) and --upstream-keys (%s) may match the same key, whose limit would have two homes: let the patterns begin with different text", shared, home)
			}
		}
	}
	return nil
}
