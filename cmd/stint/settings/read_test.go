package settings

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/stintdb/stint/server/config"
)

// files is a reader of configuration files from memory.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, found := f[name]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// load reads settings with nothing in place of the defaults.
func load(args, environ []string, readFile func(name string) ([]byte, error)) (config.Config, error) {
	return loadOver(nil, args, environ, readFile)
}

func TestPrecedence(t *testing.T) {
	one := files{"one.toml": "max-clients = 1\n", "two.toml": "max-clients = 2\n"}
	for _, tc := range []struct {
		name          string
		args, environ []string
		want          int
	}{
		{"default", nil, nil, 10_000},
		{"file", []string{"--config", "one.toml"}, nil, 1},
		{"file named by a variable", nil, []string{"STINT_CONFIG=two.toml"}, 2},
		{"file named by flag and variable", []string{"--config=one.toml"}, []string{"STINT_CONFIG=two.toml"}, 1},
		{"variable over default", nil, []string{"PATH=/bin", "STINT_MAX_CLIENTS=20"}, 20},
		{"variable over file", []string{"--config", "one.toml"}, []string{"STINT_MAX_CLIENTS=20"}, 20},
		{"flag over all", []string{"--config", "one.toml", "--max-clients", "30"}, []string{"STINT_MAX_CLIENTS=20"}, 30},
		{"last flag", []string{"--max-clients=30", "--max-clients=31"}, nil, 31},
		{"empty variable is none", []string{"--config", "one.toml"}, []string{"STINT_MAX_CLIENTS="}, 1},
	} {
		cfg, err := load(tc.args, tc.environ, one.read)
		if err != nil || cfg.MaxClients != tc.want {
			t.Errorf("%s: %d, %v, want %d", tc.name, cfg.MaxClients, err, tc.want)
		}
	}
}

// A toggle's value may follow after a space, as in Redis and in this server's own messages.
func TestToggle(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"--protected-mode", "no"}, false},
		{[]string{"--protected-mode=no"}, false},
		{[]string{"--protected-mode", "--max-clients", "9"}, true},
		{[]string{"--protected-mode", "no", "--max-clients", "9"}, false},
		{[]string{"--max-clients", "9", "--protected-mode", "no"}, false},
		{[]string{"--protected-mode", "no", "--protected-mode"}, true},
	} {
		if cfg, err := load(tc.args, nil, nil); err != nil || cfg.ProtectedMode != tc.want {
			t.Errorf("%q: %v, %v", tc.args, cfg.ProtectedMode, err)
		}
	}
	if _, err := load([]string{"--dir", "--repair", "no"}, nil, nil); err == nil {
		t.Error("a value is taken from behind the value of another flag")
	}
}

func TestListen(t *testing.T) {
	f := files{"list.toml": `listen = [":1", "unix:/a"]`, "text.toml": `listen = ":1"`}
	for _, tc := range []struct {
		args, environ, want []string
	}{
		{nil, nil, []string{"127.0.0.1:6379"}},
		{[]string{"--listen", ":1"}, nil, []string{":1"}},
		{[]string{"--listen", ":1", "--listen=unix:/a"}, nil, []string{":1", "unix:/a"}},
		{nil, []string{"STINT_LISTEN=:1,unix:/a"}, []string{":1", "unix:/a"}},
		{[]string{"--config", "list.toml"}, nil, []string{":1", "unix:/a"}},
		{[]string{"--config", "text.toml"}, nil, []string{":1"}},
		{[]string{"--config", "list.toml", "--listen", ":2"}, []string{"STINT_LISTEN=:3"}, []string{":2"}},
	} {
		cfg, err := load(tc.args, tc.environ, f.read)
		if err != nil || !reflect.DeepEqual(cfg.Listen, tc.want) {
			t.Errorf("%q %q: %q, %v, want %q", tc.args, tc.environ, cfg.Listen, err, tc.want)
		}
	}
}

// Every setting can be given in each of the three ways.
func TestEverySettingEveryWay(t *testing.T) {
	values := map[string]string{
		"http-listen": ":7071", "http-tls-listen": ":7072", "http-hosts": "stint.internal", "http-origins": "https://app.example.com", "ratelimit-fields": "draft-11,x-ratelimit",
		"grpc-listen": ":7081", "grpc-tls-listen": ":7082", "rls-config": "rules", "policies": "p.toml", "rls-headers": "yes",
		"rls-xds": "envoy-gateway:18001", "rls-xds-node": "envoy-ratelimit", "rls-xds-wait": "no", "rls-xds-tls": "yes", "rls-xds-tls-cert": "c.pem", "rls-xds-tls-key": "k.pem", "rls-xds-tls-ca": "ca.pem",
		"rls-xds-tls-name": "control.example.com", "health-listen": ":8080",
		"listen": ":7000", "dir": "data", "admin": "127.0.0.1:9100", "admin-token": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", "admin-tls": "yes", "pprof": "yes", "top-keys": "hashed",
		"warn-webhook": "https://hooks.example.com/limits", "slowlog-log-slower-than": "-1", "slowlog-max-len": "9", "denial-events": "7", "latency-monitor-threshold": "100", "loops": "3", "durability": "always", "snapshot-every": "1h", "journal-size": "1gb", "repair": "yes", "rewind": "yes", "databases": "7", "max-memory": "1gb", "when-full": "deny-new", "prefix-delimiters": ":/", "prefix-quotas": "ip:=5,user:=7", "max-clients": "7",
		"requirepass": "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", "acl-file": "users.acl", "acl-log-length": "7",
		"protected-mode": "no", "auth-timeout": "7s", "failed-logins": "7", "tls-listen": ":7001", "tls-cert": "c.pem", "tls-key": "k.pem", "tls-client-ca": "ca.pem", "max-clients-per-address": "7", "max-unauthenticated": "7", "client-memory": "7mb",
		"command-timeout": "7s", "output-timeout": "7s", "preauth-args": "12", "preauth-size": "2kb", "idle-timeout": "5m",
		"shutdown-timeout": "7s", "max-args": "99", "max-key-size": "8kb", "max-sliding-log": "500", "tracking-table-max-keys": "500", "max-bulk-size": "16kb", "query-buffer-size": "2mb",
		"output-buffer-size": "2mb", "cluster-listen": "127.0.0.1:7379", "node-id": "b", "cluster-peers": "127.0.0.1:7379,127.0.0.1:7380,127.0.0.1:7381", "bootstrap-expect": "2",
		"cluster-advertise": "127.0.0.1:7379", "advertise": "127.0.0.1:7000", "redirect": "moved", "decide-timeout": "2s", "shutdown-grace": "3s", "cluster-heartbeat": "1s",
		"cluster-disk-timeout": "3s", "groups": "3", "cluster-replicas": "3", "cluster-shared": "global:*,t:*", "cluster-ahead": "2s", "cluster-log": "boltdb", "cluster-log-size": "1gb", "cluster-import": "old", "cluster-secret": "#" + strings.Repeat("0a", 32), "cluster-tls-cert": "cert.pem", "cluster-tls-key": "key.pem",
		"cluster-tls-ca": "ca.pem", "cluster-insecure": "yes", "upstream": "10.0.0.1:6379", "upstream-keys": "g:*,h", "upstream-user": "east", "upstream-password-file": "secret",
		"upstream-tls": "yes", "upstream-tls-ca": "ca.pem", "upstream-timeout": "3s", "upstream-policies": "api*", "upstream-down": "10%", "upstream-deny-for": "1s", "upstream-loan-time": "1m", "log-level": "debug", "log-format": "json",
	}
	for i := range config.Settings {
		s := &config.Settings[i]
		value, given := values[s.Name]
		if !given {
			if s.Name != "config" {
				t.Errorf("no value to try for %s", s.Name)
			}
			continue
		}
		var lines, args, environ []string
		for name, text := range neededBy(s, values) {
			other, _ := config.Lookup(name)
			lines = append(lines, name+` = "`+text+`"`)
			args = append(args, "--"+name+"="+text)
			environ = append(environ, other.Env()+"="+text)
		}
		f := files{"c.toml": strings.Join(lines, "\n")}
		for _, way := range []struct{ args, environ []string }{{args, nil}, {nil, environ}, {[]string{"--config", "c.toml"}, nil}} {
			cfg, err := load(way.args, way.environ, f.read)
			if err != nil || s.Get(&cfg) != value {
				t.Errorf("%q %q: %s is %q, %v", way.args, way.environ, s.Name, s.Get(&cfg), err)
			}
		}
	}
}

// neededBy is a setting with its value and the settings that it requires.
func neededBy(s *config.Setting, values map[string]string) map[string]string {
	needed := map[string]string{s.Name: values[s.Name], "dir": values["dir"]}
	if strings.HasPrefix(s.Name, "http-") {
		needed["http-listen"] = values["http-listen"]
	}
	if strings.HasPrefix(s.Name, "grpc-") || strings.HasPrefix(s.Name, "rls-") {
		for _, name := range []string{"grpc-listen", "rls-config"} {
			needed[name] = values[name]
		}
	}
	if strings.HasPrefix(s.Name, "rls-xds") {
		delete(needed, "rls-config")
		for _, name := range []string{"rls-xds", "rls-xds-tls", "rls-xds-tls-cert", "rls-xds-tls-key"} {
			needed[name] = values[name]
		}
	}
	if s.Name == "admin-tls" || strings.Contains(s.Name, "tls-") && !strings.HasPrefix(s.Name, "rls-") && !strings.HasPrefix(s.Name, "cluster-") && !strings.HasPrefix(s.Name, "upstream-") {
		for _, name := range []string{"tls-listen", "tls-cert", "tls-key"} {
			needed[name] = values[name]
		}
	}
	if strings.HasPrefix(s.Name, "upstream") {
		for _, name := range []string{"upstream", "upstream-keys", "upstream-password-file", "upstream-tls"} {
			needed[name] = values[name]
		}
	}
	if s.Group != "Cluster" {
		return needed
	}
	for _, name := range []string{"cluster-listen", "node-id", "cluster-peers"} {
		needed[name] = values[name]
	}
	if s.Name == "cluster-shared" || s.Name == "cluster-replicas" {
		needed["groups"] = values["groups"]
	}
	if strings.HasPrefix(s.Name, "cluster-tls") {
		for _, name := range []string{"cluster-tls-cert", "cluster-tls-key", "cluster-tls-ca"} {
			needed[name] = values[name]
		}
	}
	return needed
}

// The errors that stop the start, word for word, because users depend on these sentences.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name          string
		args, environ []string
		want          string
	}{
		{"unknown flag", []string{"--max-client", "5"}, nil, "unknown flag --max-client; did you mean --max-clients?"},
		{"flag of Redis", []string{"--port", "7000"}, nil, "unknown flag --port; did you mean --listen?"},
		{"strange flag", []string{"--zzz"}, nil, "unknown flag --zzz; 'stint server --help-all' lists the flags"},
		{"one dash", []string{"-max-clients", "5"}, nil, "unknown flag -max-clients; did you mean --max-clients?"},
		{"no value", []string{"--max-memory"}, nil, "--max-memory needs a value: --max-memory SIZE"},
		{"argument", []string{"stint.toml"}, nil, "the server takes flags only, got 'stint.toml'; to read a configuration file, write --config FILE"},
		{"toggle", []string{"--repair", "data"}, nil, "--repair: must be yes or no, got 'data'"},
		{"flag value", []string{"--max-clients", "ten"}, nil, "--max-clients: must be an integer between 1 and 1000000, got 'ten'"},
		{"empty listen", []string{"--listen", ""}, nil, "--listen: must be HOST:PORT with a port between 0 and 65535, such as 127.0.0.1:6379 (0 picks a free one), or unix:/path, got ''"},
		{"unknown variable", nil, []string{"STINT_MAXCLIENTS=5"}, "unknown environment variable STINT_MAXCLIENTS; did you mean STINT_MAX_CLIENTS?"},
		{"variable of Redis", nil, []string{"STINT_PORT=7000"}, "unknown environment variable STINT_PORT; did you mean STINT_LISTEN?"},
		{"strange variable", nil, []string{"STINT_ZZZ=1"}, "unknown environment variable STINT_ZZZ; 'stint server --help-all' lists them; unset it if it is not for Stint"},
		{"variable value", nil, []string{"STINT_LOOPS=x"}, "STINT_LOOPS: must be an integer between 0 and 1024, got 'x'"},
		{"wrong value that would lose", []string{"--loops", "1"}, []string{"STINT_LOOPS=x"}, "STINT_LOOPS: must be an integer between 0 and 1024, got 'x'"},
		{"contradiction", []string{"--max-bulk-size", "2kb"}, nil, "--max-key-size (4kb) is more than --max-bulk-size (2kb), so the longest keys could never arrive: raise --max-bulk-size to at least 4kb or lower --max-key-size to 2kb"},
		{"nothing to keep", []string{"--durability", "always"}, nil, "--durability (always) needs a directory to keep state in: name one with --dir, or leave --durability out"},
		{"nothing to repair", []string{"--repair"}, nil, "--repair needs the directory to repair: name it with --dir, or leave --repair out"},
		{"no part of a cluster", []string{"--node-id", "a"}, nil, "--node-id is a setting of a cluster's node: make this server one with --cluster-listen, or leave --node-id out"},
		{"a node without peers", []string{"--cluster-listen", "127.0.0.1:7379", "--node-id", "a", "--dir", "data"}, nil,
			"--cluster-listen needs the addresses of the nodes: list them with --cluster-peers, this one (127.0.0.1:7379) among them"},
		{"dir is a file", []string{"--dir", "read_test.go"}, nil, "--dir: 'read_test.go' is a file: name a directory, or one that can be created"},
	} {
		if _, err := load(tc.args, tc.environ, files{}.read); err == nil || err.Error() != tc.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

func TestAskingForHelpIsNoMistake(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		if _, err := load([]string{flag}, nil, files{}.read); !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// The server accepts the example in the handbook.
func TestHandbookExample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```toml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example in docs/configuration.md")
	}
	cfg, err := load([]string{"--config", "c.toml"}, nil, files{"c.toml": example}.read)
	if err != nil || cfg.MaxClients != 5000 {
		t.Errorf("%d clients, %v", cfg.MaxClients, err)
	}
}
