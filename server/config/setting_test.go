package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// joined returns the hash of a secret of nodes.
func joined(secret string) string {
	sum := sha256.Sum256([]byte("nodes of a cluster: " + secret))
	return "#" + hex.EncodeToString(sum[:])
}

// Every setting takes some texts, with the result of Get, and refuses others: below, at and above each bound.
var settingCases = []struct {
	name    string
	takes   map[string]string
	refuses []string
}{
	{"listen", map[string]string{
		"127.0.0.1:0": "127.0.0.1:0", "[::1]:65535": "[::1]:65535", ":6379": ":6379", "unix:/run/s.sock": "unix:/run/s.sock",
		"a.example:1, unix:/s": "a.example:1,unix:/s", "[fe80::1%eth0]:1": "[fe80::1%eth0]:1",
		"unix:/" + strings.Repeat("p", MaxSocketPathBytes-1): "unix:/" + strings.Repeat("p", MaxSocketPathBytes-1),
	}, []string{
		"", ",", "127.0.0.1:1,", "6379", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:redis", "::1:6379",
		"unix:", "unix:s.sock", "unix:/s\n", "unix:/" + strings.Repeat("p", MaxSocketPathBytes), "http://127.0.0.1:80", "a b:1", "*:1",
	}},
	{"tls-listen", map[string]string{"": "", ":6380": ":6380", "127.0.0.1:0,unix:/s": "127.0.0.1:0,unix:/s"}, []string{",", "6380", "127.0.0.1:65536"}},
	{"grpc-listen", map[string]string{"": "", ":8081": ":8081", "127.0.0.1:0,unix:/s": "127.0.0.1:0,unix:/s"}, []string{",", "8081", "127.0.0.1:65536"}},
	{"grpc-tls-listen", map[string]string{"": "", ":8081": ":8081", "127.0.0.1:0,unix:/s": "127.0.0.1:0,unix:/s"}, []string{",", "8081", "127.0.0.1:65536"}},
	{"rls-config", map[string]string{"": "", "/etc/stint/rules": "/etc/stint/rules"}, []string{"a\nb", "\xff"}},
	{"rls-headers", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"rls-xds", map[string]string{"": "", "envoy-gateway:18001": "envoy-gateway:18001"}, []string{":18001", "a:0", "a", "unix:/s", "a:1,b:1", "0.0.0.0:1", "http://a:1"}},
	{"rls-xds-node", map[string]string{"": "", "envoy-ratelimit": "envoy-ratelimit"}, []string{"a b", "-a"}},
	{"rls-xds-wait", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"rls-xds-tls", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"rls-xds-tls-cert", map[string]string{"": "", "/c.pem": "/c.pem"}, []string{"a\nb"}},
	{"rls-xds-tls-key", map[string]string{"": "", "/k.pem": "/k.pem"}, []string{"a\nb"}},
	{"rls-xds-tls-ca", map[string]string{"": "", "/ca.pem": "/ca.pem"}, []string{"a\nb"}},
	{"rls-xds-tls-name", map[string]string{"": "", "control.example.com": "control.example.com"}, []string{"a\nb"}},
	{"health-listen", map[string]string{"": "", ":8080": ":8080"}, []string{"8080", ",", "127.0.0.1:65536"}},
	{"tls-cert", map[string]string{"": "", "/c.pem": "/c.pem"}, []string{"a\nb"}},
	{"policies", map[string]string{"": "", "/p.toml": "/p.toml"}, []string{"a\nb", "\xff"}},
	{"tls-key", map[string]string{"": "", "/k.pem": "/k.pem"}, []string{"a\nb"}},
	{"tls-client-ca", map[string]string{"": "", "/ca.pem": "/ca.pem"}, []string{"a\nb"}},
	{"admin", map[string]string{"": "", "127.0.0.1:9100": "127.0.0.1:9100", ":0": ":0"},
		[]string{"9100", "unix:/s", "127.0.0.1:65536", "a:1,b:2"}},
	{"loops", map[string]string{"0": "0", "1": "1", "1024": "1024"}, []string{"-1", "1025", "auto", "1.5", "+1", ""}},
	{"config", map[string]string{"": "", "/etc/stint.toml": "/etc/stint.toml", "ü x.toml": "ü x.toml"}, []string{"a\nb", "\x00", "\xff"}},
	{"dir", map[string]string{"": "", "data": "data"}, []string{"a\tb", "\xff"}},
	{"durability", map[string]string{"interval": "interval", "Always": "always", "snapshot": "snapshot"}, []string{"", "never", "everysec"}},
	{"snapshot-every", map[string]string{"0": "0", "1ms": "1ms", "5m": "5m", "365d": "365d"}, []string{"0.5ms", "366d", "-1", "900 1", ""}},
	{"journal-size", map[string]string{"1mb": "1mb", "67108864": "64mb", "16tb": "16tb"}, []string{"0", "1048575", "17tb", "-1", "big", ""}},
	{"rewind", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe", "2"}},
	{"repair", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe", "2"}},
	{"when-full", map[string]string{"deny-new": "deny-new", "Allow-New": "allow-new", "overflow": "overflow"}, []string{"", "evict", "deny"}},
	{"prefix-delimiters", map[string]string{"": "", ":": ":", ":/|": ":/|"}, []string{" ", "\"", "\\", "ü", strings.Repeat(":", 17)}},
	{"prefix-quotas", map[string]string{"": "", "ip:=5": "ip:=5", "ip:=1000,a=b=7": "ip:=1000,a=b=7", "=1000000000000": "=1000000000000"},
		[]string{"ip:", "ip:=0", "ip:=-1", "ip:=x", "ip:=1,", "ip:=1,ip:=2", "=1000000000001", "a\nb=1"}},
	{"max-memory", map[string]string{"0": "0", "64mb": "64mb", "67108864": "64mb", "70000k": "70000000", "16TB": "16tb"},
		[]string{"1mb", "67108863", "17592186044417", "17tb", "-1", "128 mb", "128m b", "1.5gb", "1e9", "0x10", "mb", "lots", "", "99999999999999999999", "9223372036854775807tb"}},
	{"requirepass", map[string]string{"": "", "secret": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
		"#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},
		[]string{"#", "#2bb8", "#" + strings.Repeat("A", 64), "#" + strings.Repeat("x", 64), "#" + strings.Repeat("a", 66)}},
	{"acl-file", map[string]string{"": "", "/etc/users.acl": "/etc/users.acl"}, []string{"a\nb", "\xff"}},
	{"databases", map[string]string{"1": "1", "16": "16", "256": "256"}, []string{"0", "257", "all", ""}},
	{"acl-log-length", map[string]string{"0": "0", "128": "128", "10000": "10000"}, []string{"-1", "10001", "all", ""}},
	{"protected-mode", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"auth-timeout", map[string]string{"1ms": "1ms", "10": "10s", "1h": "1h"}, []string{"0", "0s", "61m", "never", ""}},
	{"failed-logins", map[string]string{"1": "1", "1000000": "1000000"}, []string{"0", "1000001", "many", ""}},
	{"preauth-args", map[string]string{"10": "10", "1048576": "1048576"}, []string{"9", "1048577", "few", ""}},
	{"preauth-size", map[string]string{"1kb": "1kb", "16384": "16kb", "1gb": "1gb"}, []string{"1023", "0", "2gb", ""}},
	{"max-clients", map[string]string{"1": "1", "10000": "10000", "1000000": "1000000"}, []string{"0", "1000001", "-5", "10k", "1e3", " 5", ""}},
	{"max-clients-per-address", map[string]string{"1": "1", "1000000": "1000000"}, []string{"0", "1000001", "all", ""}},
	{"max-unauthenticated", map[string]string{"1": "1", "1000000": "1000000"}, []string{"0", "1000001", "all", ""}},
	{"client-memory", map[string]string{"1mb": "1mb", "1048576": "1mb", "1tb": "1tb", "0": "0"}, []string{"1048575", "2tb", ""}},
	{"command-timeout", map[string]string{"1ms": "1ms", "30": "30s", "1h": "1h"}, []string{"0", "61m", "never", ""}},
	{"output-timeout", map[string]string{"1ms": "1ms", "30": "30s", "1h": "1h"}, []string{"0", "61m", "never", ""}},
	{"idle-timeout", map[string]string{"0": "0", "0s": "0", "1ms": "1ms", "300": "5m", "1.5m": "90s", "7d": "7d", "365d": "365d"},
		[]string{"0.5ms", "366d", "-1", "5 s", "1w", "soon", ""}},
	{"shutdown-timeout", map[string]string{"0": "0", "1ms": "1ms", "60m": "1h"}, []string{"61m", "0.1ms", "-1s", "never"}},
	{"max-args", map[string]string{"16": "16", "1048576": "1048576"}, []string{"15", "1048577", "many"}},
	{"max-sliding-log", map[string]string{"1": "1", "1000000": "1000000"}, []string{"0", "1000001", "all"}},
	{"tracking-table-max-keys", map[string]string{"0": "0", "1000000": "1000000"}, []string{"-1", "100000001", "all"}},
	{"max-key-size", map[string]string{"1": "1", "4kb": "4kb", "65535": "65535"}, []string{"0", "65536", "64kb", "-1", "x"}},
	{"max-bulk-size", map[string]string{"1024": "1kb", "512mb": "512mb"}, []string{"1023", "536870913", "0", "big"}},
	{"query-buffer-size", map[string]string{"4kb": "4kb", "1gb": "1gb"}, []string{"4095", "1073741825", "0", "big"}},
	{"output-buffer-size", map[string]string{"16kb": "16kb", "1gb": "1gb"}, []string{"16383", "1073741825", "0", "big"}},
	{"cluster-listen", map[string]string{"": "", "127.0.0.1:7379": "127.0.0.1:7379", ":7379": ":7379"}, []string{"7379", "unix:/s", "a:1,b:2"}},
	{"node-id", map[string]string{"": "", "a": "a", "Node-1_b.c": "Node-1_b.c", strings.Repeat("n", MaxNodeIDBytes): strings.Repeat("n", MaxNodeIDBytes)},
		[]string{" ", "-a", ".", "a b", "ä", "a/b", "a\n", strings.Repeat("n", MaxNodeIDBytes+1)}},
	{"cluster-peers", map[string]string{"": "", "a:1": "a:1", "10.0.0.1:7379, [::1]:65535": "10.0.0.1:7379,[::1]:65535",
		"dns:nodes:7379, srv:_stint._tcp.example.org": "dns:nodes:7379,srv:_stint._tcp.example.org"},
		[]string{"dns:nodes", "dns::1", "dns:a:0", "srv:", "srv:a:1", "srv:a b", ",", "a:1,", "a", ":1", "0.0.0.0:1", "[::]:1", "a:0", "a:00", "a:65536", "unix:/s", "a b:1", strings.Repeat("a:1,", MaxPeers) + "a:1"}},
	{"bootstrap-expect", map[string]string{"0": "0", "3": "3", "64": "64"}, []string{"-1", "65", "three", ""}},
	{"cluster-advertise", map[string]string{"": "", "stint-1.example:7379": "stint-1.example:7379"}, []string{":1", "0.0.0.0:1", "a:0", "a", "a:1,b:1"}},
	{"advertise", map[string]string{"": "", "[fe80::1]:6379": "[fe80::1]:6379"}, []string{":1", "a:0", "unix:/s"}},
	{"http-listen", map[string]string{"": "", "127.0.0.1:8080": "127.0.0.1:8080", "unix:/run/http.sock": "unix:/run/http.sock"}, []string{"8080", "http://x"}},
	{"http-tls-listen", map[string]string{"": "", ":8443": ":8443"}, []string{"8443"}},
	{"http-hosts", map[string]string{"": "", "stint,stint.internal": "stint,stint.internal"}, []string{",", "a,,b"}},
	{"ratelimit-fields", map[string]string{"": "", "draft-10": "draft-10", "draft-11,x-ratelimit": "draft-11,x-ratelimit", "none": "none"}, []string{"draft-12", "x-ratelimit,x-ratelimit-date"}},
	{"http-origins", map[string]string{"": "", "https://app.example.com": "https://app.example.com"}, []string{","}},
	{"groups", map[string]string{"1": "1", "64": "64"}, []string{"0", "65", "all", ""}},
	{"redirect", map[string]string{"forward": "forward", "MOVED": "moved"}, []string{"", "ask", "yes"}},
	{"shutdown-grace", map[string]string{"0": "0", "1ms": "1ms", "60m": "1h"}, []string{"61m", "0.1ms", "-1s", "never"}},
	{"decide-timeout", map[string]string{"10ms": "10ms", "1": "1s", "1m": "1m"}, []string{"0", "9ms", "61s", "-1", "soon", ""}},
	{"cluster-heartbeat", map[string]string{"50ms": "50ms", "300ms": "300ms", "10s": "10s"}, []string{"0", "49ms", "11s", ""}},
	{"cluster-disk-timeout", map[string]string{"100ms": "100ms", "1m": "1m"}, []string{"0", "99ms", "61s", ""}},
	{"cluster-ahead", map[string]string{"0": "0", "10ms": "10ms", "1s": "1s", "5s": "5s"}, []string{"6s", "-1s", "soon", ""}},
	{"cluster-log", map[string]string{"stint": "stint", "BOLTDB": "boltdb"}, []string{"", "wal", "bolt"}},
	{"cluster-log-size", map[string]string{"1mb": "1mb", "1tb": "1tb"}, []string{"0", "1048575", "2tb", "big", ""}},
	{"cluster-import", map[string]string{"": "", "/var/lib/stint": "/var/lib/stint"}, []string{"a\nb"}},
	{"cluster-tls-cert", map[string]string{"": "", "node.pem": "node.pem"}, []string{"a\nb"}},
	{"cluster-tls-key", map[string]string{"": "", "key.pem": "key.pem"}, []string{"a\nb"}},
	{"cluster-tls-ca", map[string]string{"": "", "ca.pem": "ca.pem"}, []string{"a\nb"}},
	{"cluster-secret", map[string]string{"": "", strings.Repeat("x", 32): joined(strings.Repeat("x", 32)), "#" + strings.Repeat("0a", 32): "#" + strings.Repeat("0a", 32)},
		[]string{"short", strings.Repeat("x", 31), "#00", "#" + strings.Repeat("0A", 32)}},
	{"cluster-insecure", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"upstream", map[string]string{"": "", "a:1": "a:1", "a:1, b:2": "a:1,b:2"}, []string{",", "a", "a:0", "unix:/s"}},
	{"cluster-replicas", map[string]string{"0": "0", "3": "3", "5": "5"}, []string{"-1", "6", "all", ""}},
	{"cluster-shared", map[string]string{"": "", "global:*": "global:*", "a*,b?[c]": "a*,b?[c]"}, []string{",", "a,"}},
	{"upstream-keys", map[string]string{"": "", "global:*": "global:*", "a*,b?[c]": "a*,b?[c]"}, []string{",", "a,", "a\nb", strings.Repeat("a", 257), strings.Repeat("a,", 16) + "a"}},
	{"upstream-policies", map[string]string{"": "", "api,chat*": "api,chat*"}, []string{",", "a,"}},
	{"upstream-user", map[string]string{"": "", "east": "east"}, []string{"a b", "-a"}},
	{"upstream-password-file", map[string]string{"": "", "/run/secret": "/run/secret"}, []string{"a\nb"}},
	{"upstream-tls", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"upstream-tls-ca", map[string]string{"": "", "ca.pem": "ca.pem"}, []string{"a\nb"}},
	{"upstream-timeout", map[string]string{"10ms": "10ms", "1": "1s", "1m": "1m"}, []string{"0", "9ms", "61s", ""}},
	{"upstream-down", map[string]string{"error": "error", "deny": "deny", "allow": "allow", "1%": "1%", "100%": "100%"}, []string{"", "0%", "101%", "07%", "5", "Deny", "-1%"}},
	{"upstream-deny-for", map[string]string{"1ms": "1ms", "10": "10s"}, []string{"0", "11s", "never", ""}},
	{"upstream-loan-time", map[string]string{"0": "0", "10s": "10s", "24h": "1d"}, []string{"25h", "-1", "soon"}},
	{"admin-token", map[string]string{"": "", "secret": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
		"#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},
		[]string{"#", "#2bb8", "#2BB80D537B1DA3E38BD30361AA855686BDE0EACD7162FEF6A25FE97BF527A25B", "secret\r\n"}},
	{"admin-tls", map[string]string{"yes": "yes", "no": "no"}, []string{"", "maybe"}},
	{"pprof", map[string]string{"yes": "yes", "off": "no"}, []string{"", "maybe"}},
	{"top-keys", map[string]string{"plain": "plain", "Hashed": "hashed", "off": "off"}, []string{"", "none", "on"}},
	{"warn-webhook", map[string]string{"": "", "https://u:p@example.org:8443/hook?a=b": "https://u:p@example.org:8443/hook?a=b", "http://[::1]/": "http://[::1]/"},
		[]string{"example.org", "ftp://example.org/", "https://", "https:///hook", "http://a b/", "http://" + strings.Repeat("a", 2048), "http://a\n"}},
	{"denial-events", map[string]string{"0": "0", "1000": "1000"}, []string{"-1", "1001", "many"}},
	{"slowlog-log-slower-than", map[string]string{"-1": "-1", "0": "0", "1000000000": "1000000000"}, []string{"-2", "1000000001", "10ms", "+1", ""}},
	{"slowlog-max-len", map[string]string{"0": "0", "10000": "10000"}, []string{"-1", "10001", "many"}},
	{"latency-monitor-threshold", map[string]string{"0": "0", "1000000": "1000000"}, []string{"-1", "1000001", "1s"}},
	{"log-level", map[string]string{"debug": "debug", "info": "info", "warn": "warn", "ERROR": "error"}, []string{"", "notice", "inf"}},
	{"log-format", map[string]string{"text": "text", "JSON": "json"}, []string{"", "xml"}},
}

func TestEverySetting(t *testing.T) {
	covered := map[string]bool{}
	for _, tc := range settingCases {
		covered[tc.name] = true
		s, found := Lookup(tc.name)
		if !found {
			t.Fatalf("no setting %s", tc.name)
		}
		for text, want := range tc.takes {
			c := Default()
			if err := s.Set(&c, text); err != nil {
				t.Errorf("%s refuses %q: %v", tc.name, text, err)
			} else if got := s.Get(&c); got != want {
				t.Errorf("%s set to %q is %q, want %q", tc.name, text, got, want)
			} else if err := s.Set(&c, got); err != nil || s.Get(&c) != want {
				t.Errorf("%s does not read back its own %q: %v", tc.name, got, err)
			}
		}
		for _, text := range tc.refuses {
			c := Default()
			err := s.Set(&c, text)
			invalid, ok := errors.AsType[*InvalidError](err)
			if s.Type() == typeSecret { // the error goes to the log
				if strings.Contains(err.Error(), text) && len(text) > 1 {
					t.Errorf("%s: the error has the secret: %v", tc.name, err)
				}
				text = invalid.Text
			}
			if !ok || invalid.Name != tc.name || invalid.Text != text || !strings.HasPrefix(invalid.Want, "must ") {
				t.Errorf("%s set to %q: %v", tc.name, text, err)
			}
			if !reflect.DeepEqual(c, Default()) {
				t.Errorf("%s refused %q but changed the settings", tc.name, text)
			}
		}
	}
	for _, s := range Settings {
		if !covered[s.Name] {
			t.Errorf("no cases for %s", s.Name)
		}
	}
}

func TestErrorIsOneReadableLine(t *testing.T) {
	for name, want := range map[string]string{
		"max-clients":  `max-clients: must be an integer between 1 and 1000000, got 'a\nb'`,
		"max-key-size": `max-key-size: must be a size between 1 and 65535 bytes, such as 4kb, got 'a\nb'`,
		"max-memory":   `max-memory: must be a size between 64mb and 16tb, such as 64kb or 1gb, or 0 for three quarters of the memory, got 'a\nb'`,
		"log-level":    `log-level: must be debug, info, warn or error, got 'a\nb'`,
	} {
		s, _ := Lookup(name)
		c := Default()
		if got := s.Set(&c, "a\nb").Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	s, _ := Lookup("loops")
	if got := s.Set(new(Config), strings.Repeat("9", 1<<20)).Error(); len(got) > 300 {
		t.Errorf("an error of %d bytes", len(got))
	}
}

func TestLookupAndRedisValue(t *testing.T) {
	c := Default()
	c.MaxMemoryBytes, c.IdleTimeout = 128<<20, 1500_000_000
	for name, want := range map[string]string{
		"MaxMemory": "134217728", "max-memory": "134217728", "timeout": "2", "maxclients": "10000",
		"proto-max-bulk-len": "1048576", "client-query-buffer-limit": "4194304", "dir": "",
	} {
		s, found := Lookup(name)
		if !found {
			t.Errorf("no setting %s", name)
		} else if got := s.RedisValue(&c); got != want {
			t.Errorf("%s is %q for Redis clients, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", "save", "maxmemory-policy"} {
		if s, found := Lookup(name); found {
			t.Errorf("%q found %s", name, s.Name)
		}
	}
}

// A list set in a copy must not show through in the original: a running server swaps copies.
func TestSetLeavesCopiesAlone(t *testing.T) {
	original := Default()
	changed := original
	s, _ := Lookup("listen")
	if err := s.Set(&changed, "127.0.0.1:7000"); err != nil {
		t.Fatal(err)
	}
	if original.Listen[0] != Default().Listen[0] {
		t.Errorf("the original now listens on %s", original.Listen[0])
	}
}
