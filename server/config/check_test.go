package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDefaultIsFine(t *testing.T) {
	c := Default()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestContradictions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		says   []string
	}{
		{"policies of a node", func(c *Config) {
			c.ClusterListen, c.NodeID, c.Dir, c.Policies = "127.0.0.1:1", "a", "d", "p.toml"
		}, []string{"--policies (p.toml)", "stint policy apply"}},
		{"key over bulk", func(c *Config) { c.MaxKeyBytes, c.MaxBulkBytes = 2048, 1024 }, []string{"--max-key-size (2kb)", "raise --max-bulk-size to at least 2kb"}},
		{"bulk over query buffer", func(c *Config) { c.MaxBulkBytes = 5 << 20 }, []string{"--query-buffer-size (4mb)", "--max-bulk-size (5mb)", "raise"}},
		{"bulk fills query buffer", func(c *Config) { c.MaxBulkBytes = 4 << 20 }, []string{"--query-buffer-size (4mb) must be more than"}},
		{"bulk over output buffer", func(c *Config) { c.OutputBufferBytes = 64 << 10 }, []string{"--output-buffer-size (64kb)", "raise"}},
		{"buffers over memory", func(c *Config) { c.MaxMemoryBytes, c.ClientBytes = 128<<20, 128<<20 }, []string{"--client-memory (128mb) is more than a quarter of --max-memory (128mb)", "--client-memory to 32mb", "raise --max-memory to 512mb"}},
		{"output buffer over all", func(c *Config) { c.ClientBytes, c.OutputBufferBytes = 8<<20, 16<<20 }, []string{"--output-buffer-size (16mb) is more than --client-memory", "take 8mb", "raise --client-memory"}},
		{"output buffer over a share of memory", func(c *Config) { c.MaxMemoryBytes, c.OutputBufferBytes = 128<<20, 16<<20 }, []string{"--output-buffer-size (16mb)", "follows from --max-memory (128mb)", "take 8mb"}},
		{"query buffer over all", func(c *Config) { c.ClientBytes, c.QueryBufferBytes = 8<<20, 16<<20 }, []string{"--query-buffer-size (16mb) is more than --client-memory"}},
		{"same address twice", func(c *Config) { c.Listen = []string{":1", "unix:/s", ":1"} }, []string{"--listen names :1 twice"}},
		{"same socket twice", func(c *Config) { c.Listen = []string{"unix:/s", "unix:/s"} }, []string{"unix:/s twice"}},
		{"every interface and one", func(c *Config) { c.Listen = []string{"127.0.0.1:1", ":1"} }, []string{"127.0.0.1:1 and :1"}},
		{"localhost by number", func(c *Config) { c.Listen = []string{"127.0.0.1:1", "localhost:1"} }, []string{"same port"}},
		{"admin on a client port", func(c *Config) { c.Admin = "127.0.0.1:6379" }, []string{"--admin (127.0.0.1:6379)", "another port"}},
		{"admin on every interface", func(c *Config) { c.Admin = "0.0.0.0:6379" }, []string{"--admin (0.0.0.0:6379)"}},
		{"admin for everybody", func(c *Config) { c.Admin = ":9100" }, []string{"--admin (:9100)", "set --admin-token"}},
		{"token for nothing", func(c *Config) {
			c.Admin, c.AdminToken = "", "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
		}, []string{"--admin-token needs an address"}},
		{"profiles of nothing", func(c *Config) { c.Admin, c.Pprof = "", true }, []string{"--pprof needs an address"}},
		{"dir is a file", func(c *Config) { c.Dir = file }, []string{"is a file", "name a directory"}},
		{"durability of nothing", func(c *Config) { c.Durability = "always" }, []string{"--durability (always)", "name one with --dir"}},
		{"Envoy without rules", func(c *Config) { c.GRPCListen = []string{":1"} }, []string{"--grpc-listen (:1) needs rules", "with --rls-config"}},
		{"rules for nobody", func(c *Config) { c.RLSConfig = "rules" }, []string{"are for --grpc-listen", "name an address there"}},
		{"rules of two sources", func(c *Config) { c.GRPCListen, c.RLSConfig, c.RLSXDS = []string{":1"}, "rules", "a:1" }, []string{"--rls-config (rules) and --rls-xds (a:1)", "leave one of them out"}},
		{"pushed rules for nobody", func(c *Config) { c.RLSXDS = "a:1" }, []string{"are for --grpc-listen", "name an address there"}},
		{"TLS without a control plane", func(c *Config) { c.RLSXDSTLS = true }, []string{"--rls-xds-tls is about the control plane of --rls-xds"}},
		{"no node", func(c *Config) { c.GRPCListen, c.RLSXDS, c.RLSXDSNode = []string{":1"}, "a:1", "" }, []string{"--rls-xds-node must not be empty"}},
		{"a CA without TLS", func(c *Config) { c.GRPCListen, c.RLSXDS, c.RLSXDSTLSCA = []string{":1"}, "a:1", "ca.pem" }, []string{"are for --rls-xds-tls"}},
		{"half a certificate", func(c *Config) {
			c.GRPCListen, c.RLSXDS, c.RLSXDSTLS, c.RLSXDSTLSCert = []string{":1"}, "a:1", true, "c.pem"
		}, []string{"--rls-xds-tls-cert and --rls-xds-tls-key belong together"}},
		{"health on a client port", func(c *Config) { c.HealthListen = []string{":6379"} }, []string{"--health-listen (:6379) takes the same port as 127.0.0.1:6379"}},
		{"health on the admin port", func(c *Config) { c.HealthListen, c.Admin = []string{":1"}, "127.0.0.1:1" }, []string{"--admin (127.0.0.1:1)", "--health-listen"}},
		{"Envoy on a client port", func(c *Config) { c.GRPCListen, c.RLSConfig = []string{":6379"}, "rules" }, []string{"--grpc-listen or --grpc-tls-listen (:6379) takes the same port as 127.0.0.1:6379"}},
		{"Envoy on the admin port", func(c *Config) { c.GRPCListen, c.RLSConfig, c.Admin = []string{":1"}, "rules", ":1" }, []string{"--admin (:1)", "--grpc-listen"}},
		{"Envoy by TLS without a certificate", func(c *Config) { c.GRPCTLSListen, c.RLSConfig = []string{":1"}, "rules" }, []string{"--grpc-tls-listen (:1) needs a certificate", "--tls-cert and --tls-key"}},
		{"HTTP on a client port", func(c *Config) { c.HTTPListen = []string{":6379"} }, []string{"--http-listen or --http-tls-listen (:6379) takes the same port as 127.0.0.1:6379"}},
		{"HTTP and HTTPS on one port", func(c *Config) {
			c.HTTPListen, c.HTTPTLSListen, c.TLSCert, c.TLSKey = []string{":1"}, []string{":1"}, "c", "k"
		}, []string{"takes the same port as :1"}},
		{"HTTP on the admin port", func(c *Config) { c.HTTPListen, c.Admin = []string{":1"}, ":1" }, []string{"--admin (:1)", "--http-listen"}},
		{"TLS for operators without a certificate", func(c *Config) { c.AdminTLS = true }, []string{"--admin-tls (127.0.0.1:6380) needs a certificate"}},
		{"TLS for operators without an address", func(c *Config) { c.Admin, c.AdminTLS = "", true }, []string{"--admin-tls needs an address"}},
		{"TLS without a certificate", func(c *Config) { c.TLSListen = []string{":1"} }, []string{"--tls-listen (:1) needs a certificate", "--tls-cert and --tls-key"}},
		{"a certificate for nothing", func(c *Config) { c.TLSCert = "c" }, []string{"are for --tls-listen"}},
		{"TLS on a client port", func(c *Config) { c.TLSListen = []string{":6379"} }, []string{"--tls-listen (:6379) takes the same port as 127.0.0.1:6379"}},
		{"TLS on the admin port", func(c *Config) { c.TLSListen, c.Admin = []string{":1"}, ":1" }, []string{"--admin (:1)", "--tls-listen"}},
		{"two places for a password", func(c *Config) { c.ACLFile, c.RequirePass = "users.acl", "#"+strings.Repeat("0", 64) }, []string{"--requirepass and --acl-file (users.acl)", "in the file"}},
		{"rewind of nothing", func(c *Config) { c.Rewind = true }, []string{"--rewind needs the directory", "name it with --dir"}},
		{"repair of nothing", func(c *Config) { c.Repair = true }, []string{"--repair needs the directory", "name it with --dir"}},
	} {
		c := Default()
		tc.change(&c)
		checkConflict(t, tc.name, c.Check(), tc.says)
	}
}

func TestWhatGoesTogether(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"two free ports":        func(c *Config) { c.Listen, c.Admin = []string{"127.0.0.1:0", "127.0.0.1:0"}, "127.0.0.1:0" },
		"one port, two hosts":   func(c *Config) { c.Listen = []string{"127.0.0.1:1", "127.0.0.2:1", "[::1]:1"} },
		"IPv4 and one IPv6":     func(c *Config) { c.Listen = []string{"0.0.0.0:1", "[::1]:1"} },
		"socket and port":       func(c *Config) { c.Listen = []string{"unix:/s", "unix:/t", ":1"} },
		"state on disk":         func(c *Config) { c.Dir, c.Durability, c.Repair = filepath.Join(t.TempDir(), "new"), "always", true },
		"a directory there":     func(c *Config) { c.Dir = t.TempDir() },
		"admin's default taken": func(c *Config) { c.Listen = []string{":6380"} },
		"admin with a token": func(c *Config) {
			c.Admin, c.AdminToken = ":9100", "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
		},
		"no admin":            func(c *Config) { c.Admin = "" },
		"key as long as bulk": func(c *Config) { c.MaxBulkBytes = c.MaxKeyBytes },
	} {
		c := Default()
		change(&c)
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A Config that was filled in by hand must satisfy the same ranges as one that was read.
func TestCheckRanges(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"listen":           func(c *Config) { c.Listen = nil },
		"max-clients":      func(c *Config) { c.MaxClients = 0 },
		"loops":            func(c *Config) { c.Loops = -1 },
		"max-memory":       func(c *Config) { c.MaxMemoryBytes = 5 },
		"shutdown-timeout": func(c *Config) { c.ShutdownTimeout = -1 },
		"log-level":        func(c *Config) { c.LogLevel = "" },
	} {
		c := Default()
		change(&c)
		invalid, ok := errors.AsType[*InvalidError](c.Check())
		if !ok || invalid.Name != name {
			t.Errorf("%s: %v", name, c.Check())
		}
	}
}

func TestRewrite(t *testing.T) {
	c := Default()
	c.Listen = []string{":1", `unix:/a "quoted" \ path`}
	c.File, c.MaxClients, c.MaxMemoryBytes, c.IdleTimeout = "x.toml", 5, 1<<30, 90e9
	_, got, _ := strings.Cut(string(Rewrite(&c)), "\n")
	want := `listen = [":1", "unix:/a \"quoted\" \\ path"]
max-memory = "1gb"
max-clients = 5
idle-timeout = "90s"
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	c = Default()
	if _, rest, _ := strings.Cut(string(Rewrite(&c)), "\n"); rest != "" {
		t.Errorf("the defaults rewrite to %s", rest)
	}
}

// checkConflict holds an error of contradicting settings to what it must say, and to names as a user writes them.
func checkConflict(t *testing.T, name string, err error, says []string) {
	t.Helper()
	if !errors.Is(err, ErrConflict) {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not say %q", name, err, part)
		}
	}
	for i := range Settings {
		if setting := Settings[i].Name; strings.Contains(setting, "-") && regexp.MustCompile(`(^|[^-\w])`+setting+`\b`).MatchString(err.Error()) {
			t.Errorf("%s: %q names %s without its dashes", name, err, setting)
		}
	}
}
