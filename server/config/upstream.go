package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/engine/limits"
)

// upstreamSettings are about the cluster that is the home of some keys' limits. All of them need upstream.
var upstreamSettings = []Setting{
	{
		Name: "upstream", Group: groupUpstream, Placeholder: "ADDRESSES",
		Help:  "HOST:PORT of the nodes of the home cluster, or of a single server, separated by commas. The home cluster decides the limits of --upstream-keys, and lends their tokens to this server. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.Upstream, peersForm, MaxPeers} },
	},
	{
		Name: "upstream-keys", Group: groupUpstream, Placeholder: "PATTERNS",
		Help:  "Keys whose limits the home cluster decides: patterns in the syntax of KEYS, separated by commas. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.UpstreamKeys, patternsForm, maxPatterns} },
	},
	{
		Name: "upstream-policies", Group: groupUpstream, Placeholder: "PATTERNS",
		Help:  "Names of policies that this server copies from the home cluster every 2 seconds, as patterns in the syntax of KEYS, separated by commas. The copies replace changes made here. Must be the same on every node.",
		value: func(c *Config) Value { return &listValue{&c.UpstreamPolicies, patternsForm, maxPatterns} },
	},
	{
		Name: "upstream-user", Group: groupUpstream, Placeholder: "NAME",
		Help:  "User as whom this server logs in to the home cluster. Without it, the server logs in as the user default if --upstream-password-file names a password.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamUser, nodeNameForm} },
	},
	{
		Name: "upstream-password-file", Group: groupUpstream, Placeholder: "FILE",
		Help:  "File whose first line is the password for the home cluster.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamPasswordFile, pathForm} },
	},
	{
		Name: "upstream-tls", Group: groupUpstream, Placeholder: "YES",
		Help:  "Connect to the home cluster over TLS.",
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
	{
		Name: "upstream-down", Group: groupUpstream, Placeholder: "RULE",
		Help:  "What happens to a request that needs the home cluster while home does not answer: error returns UPSTREAM or UNCERTAIN, deny denies it, allow grants it without a limit, and a percentage grants it within this share of its limit, counted by this server. Reservations, and requests with several limits, always get the error.",
		value: func(c *Config) Value { return &textValue{&c.UpstreamDown, downForm} },
	},
	{
		Name: "upstream-deny-for", Group: groupUpstream, Placeholder: "DURATION",
		Help:  "After a denial by the home cluster, this server denies further requests for the key by itself for this time, or for the wait_ms of the denial if that is shorter. If many requests come, a wait_ms below 100 counts as 100.",
		value: func(c *Config) Value { return &period{&c.UpstreamDenyFor, time.Millisecond, 10 * time.Second} },
	},
	{
		Name: "upstream-loan-time", Group: groupUpstream, Placeholder: "DURATION",
		Help:  "Time after which the home cluster counts lent tokens as spent if this server has not renewed the loan, for example because it was killed. With 0, they stay set aside until an operator voids the loan (RL.VOID). Only for a standalone server.",
		value: func(c *Config) Value { return &duration{&c.UpstreamLoanTime, 24 * time.Hour, "never"} },
	},
}

// downForm is the form of upstream-down.
var downForm = form{"rule", "error, deny, allow, or a percentage between 1% and 100%", func(text string) bool {
	_, isShare := shareOf(text)
	return isShare || slices.Contains([]string{downError, "deny", DownAllow}, text)
}}

// Rules of upstream-down.
const (
	downError = "error"
	DownAllow = "allow"
)

// shareOf reads a percentage.
func shareOf(text string) (percent int, ok bool) {
	digits, isPercentage := strings.CutSuffix(text, "%")
	percent, err := strconv.Atoi(digits)
	return percent, isPercentage && err == nil && percent >= 1 && percent <= 100 && digits == strconv.Itoa(percent)
}

// UpstreamDownShare returns the percentage of a limit within which requests are granted while home does not answer: 0
// to deny all. It returns false if they are not decided here.
func (c *Config) UpstreamDownShare() (percent int, decides bool) {
	percent, _ = shareOf(c.UpstreamDown)
	return percent, c.UpstreamDown != downError
}

// minLoanTime leaves time to renew a loan.
const minLoanTime = 10 * time.Second

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
	case len(c.UpstreamPolicies) > 0 && c.Policies != "":
		return conflictf("--upstream-policies copies policies, and --policies (%s) removes all that are not in the file: use one of both", c.Policies)
	case c.UpstreamLoanTime > 0 && c.UpstreamLoanTime < minLoanTime:
		return conflictf("--upstream-loan-time (%s) leaves no time to renew a loan: raise it to at least %s", limits.FormatDuration(int64(c.UpstreamLoanTime)), limits.FormatDuration(int64(minLoanTime)))
	case c.IsCluster() && (c.UpstreamLoanTime > 0 || strings.HasSuffix(c.UpstreamDown, "%")):
		return conflictf("--upstream-loan-time, and a share as --upstream-down, are for a standalone server: leave them out")
	case strings.HasSuffix(c.UpstreamDown, "%") && c.Databases == database.Most:
		return conflictf("--upstream-down (%s) counts what it grants in the last of %d databases: lower --databases to at most %d", c.UpstreamDown, database.Most, database.Most-1)
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
