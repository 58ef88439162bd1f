package settings

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/config"
)

// readVariables are variables that become settings.
const readVariables = `HOST=127.0.0.1 PORT=8090 GRPC_HOST=127.0.0.2 GRPC_PORT=8091 GRPC_UDS=/run/rl.sock GRPC_SERVER_USE_TLS=true GRPC_SERVER_TLS_CERT=/c.pem GRPC_SERVER_TLS_KEY=/k.pem
GRPC_CLIENT_TLS_CACERT=/ca.pem GRPC_SERVER_TLS_CA_CERT=/ca2.pem LOG_LEVEL=trace LOG_FORMAT=json CONFIG_TYPE=GRPC_XDS_SOTW FORCE_START_WITHOUT_INITIAL_CONFIG=true HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED=false
CONFIG_GRPC_XDS_NODE_ID=envoy-ratelimit CONFIG_GRPC_XDS_SERVER_URL=envoy-gateway:18001 CONFIG_GRPC_XDS_SERVER_USE_TLS=true CONFIG_GRPC_XDS_CLIENT_TLS_CERT=/xc.pem CONFIG_GRPC_XDS_CLIENT_TLS_KEY=/xk.pem
CONFIG_GRPC_XDS_SERVER_TLS_CACERT=/xca.pem CONFIG_GRPC_XDS_SERVER_TLS_SAN=control.example.com RUNTIME_ROOT=/rules RUNTIME_SUBDIRECTORY=ratelimit RUNTIME_APPDIRECTORY=limits RUNTIME_IGNOREDOTFILES=true
RUNTIME_WATCH_ROOT=false LIMIT_RESPONSE_HEADERS_ENABLED=true SHADOW_MODE=false QUOTA_MODE=false`

// settingsOf are the settings that variables give and that are not the defaults.
func settingsOf(t *testing.T, environ ...string) (given map[string]string, r *ratelimitEnv) {
	t.Helper()
	r = readRatelimit(environ)
	cfg, err := loadOver(r.found, nil, environ, files{}.read)
	if r.err != nil || err != nil {
		t.Fatal(r.err, err)
	}
	given = map[string]string{}
	defaults := config.Default()
	for i := range config.Settings {
		if s := &config.Settings[i]; s.Get(&cfg) != s.Get(&defaults) {
			given[s.Name] = s.Get(&cfg)
		}
	}
	return given, r
}

// Variables become settings.
func TestRatelimitVariables(t *testing.T) {
	got, r := settingsOf(t, strings.Fields(readVariables)...)
	want := map[string]string{
		"health-listen": "127.0.0.1:8090", "grpc-tls-listen": "unix:/run/rl.sock", "tls-cert": "/c.pem", "tls-key": "/k.pem", "tls-client-ca": "/ca.pem", "log-level": "debug", "log-format": "json",
		"rls-xds": "envoy-gateway:18001", "rls-xds-node": "envoy-ratelimit", "rls-xds-wait": "no", "rls-xds-tls": "yes", "rls-xds-tls-cert": "/xc.pem", "rls-xds-tls-key": "/xk.pem",
		"rls-xds-tls-ca": "/xca.pem", "rls-xds-tls-name": "control.example.com", "rls-headers": "yes",
	}
	if !maps.Equal(got, want) || len(r.warnings) != 0 {
		t.Errorf("%v, want %v; %v", got, want, r.warnings)
	}
}

// variablesFile has the variables of envoyproxy/ratelimit of July 2026, those of Envoy Gateway, and one of
// OpenTelemetry, each with a value that is not the default. clients/compattest compares it with that program.
const variablesFile = "testdata/ratelimit-variables.txt"

// asAlways are values that ask for the behaviour that Stint always has.
var asAlways = map[string]string{
	"RUNTIME_IGNOREDOTFILES": "true",  // rules are NAME.yaml
	"RUNTIME_WATCH_ROOT":     "false", // each file is read again, however it was replaced
}

// No variable is ignored silently: each changes a setting, alone or beside some that give it its meaning, is an error,
// or is named in one warning.
func TestNoRatelimitVariableIsIgnored(t *testing.T) {
	text, err := os.ReadFile(variablesFile)
	if err != nil {
		t.Fatal(err)
	}
	const xds = "CONFIG_TYPE=GRPC_XDS_SOTW"
	beside := [][]string{{}, {"GRPC_SERVER_USE_TLS=true"}, {xds}, {xds, "CONFIG_GRPC_XDS_SERVER_USE_TLS=true"}, {xds, "FORCE_START_WITHOUT_INITIAL_CONFIG=true"}}
	for variable := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(variable, "=")
		isRead := slices.ContainsFunc(beside, func(others []string) bool {
			without, with := readRatelimit(others), readRatelimit(append(slices.Clone(others), variable))
			return with.err != nil || !slices.EqualFunc(with.found, without.found, func(a, b assignment) bool { return a.setting.Name == b.setting.Name && a.text == b.text })
		})
		warnings := readRatelimit([]string{variable}).warnings
		isNamed := len(warnings) == 1 && warnings[0].Variable == name && warnings[0].Instead != ""
		if is := isRead || asAlways[name] == value; is == isNamed || is && len(warnings) > 0 {
			t.Errorf("%s: read %t, and the warnings are %v", variable, isRead, warnings)
		}
	}
}

// Without variables, the addresses and the directory are the ones of that program; ours take precedence.
func TestRatelimitDefaults(t *testing.T) {
	got, r := settingsOf(t, "USE_STATSD=false", "TRACING_ENABLED=", "GRPC_PORT=", "DATABASE_URL=a")
	want := map[string]string{"health-listen": "0.0.0.0:8080", "grpc-listen": "0.0.0.0:8081", "rls-config": "/srv/runtime_data/current/config"}
	if !maps.Equal(got, want) || len(r.warnings) != 0 {
		t.Errorf("%v, want %v; %v", got, want, r.warnings)
	}
	got, _ = settingsOf(t, "GRPC_PORT=1", "RUNTIME_ROOT=/a", "RUNTIME_SUBDIRECTORY=b", "STINT_GRPC_LISTEN=127.0.0.1:2", "STINT_HEALTH_LISTEN=:3")
	want = map[string]string{"health-listen": ":3", "grpc-listen": "127.0.0.1:2", "rls-config": "/a/b/config"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Values that make no sense, and variables that change decisions, are errors that name them.
func TestRatelimitErrors(t *testing.T) {
	for variable, says := range map[string]string{
		"GRPC_PORT=many": "GRPC_HOST and GRPC_PORT: must be", "PORT=-1": "HOST and PORT: must be", "LOG_LEVEL=loud": "LOG_LEVEL: must be debug, info, warn or error, got 'loud'",
		"CONFIG_TYPE=ETCD": `CONFIG_TYPE: must be FILE or GRPC_XDS_SOTW, got "ETCD"`, "GRPC_SERVER_USE_TLS=maybe": `GRPC_SERVER_USE_TLS: must be true or false, got "maybe"`,
		"SHADOW_MODE=true": "SHADOW_MODE: is not supported for all rules at once; write shadow_mode: true in the rules", "QUOTA_MODE=1": "QUOTA_MODE: is not supported",
	} {
		r := readRatelimit([]string{variable})
		err := r.err
		if err == nil {
			_, err = loadOver(r.found, nil, nil, files{}.read)
		}
		if err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v, want %s", variable, err, says)
		}
	}
}

// The variables are read by a program that is called ratelimit, and with a value of CONFIG_TYPE.
func TestReadsRatelimit(t *testing.T) {
	for _, tc := range []struct {
		program string
		environ []string
		want    bool
	}{
		{"/bin/ratelimit", nil, true}, {"ratelimit", nil, true}, {"/stint", nil, false}, {"/stint", []string{"PORT=8080", "REDIS_URL=a", "CONFIG_TYPE=yaml"}, false},
		{"/stint", []string{"CONFIG_TYPE=FILE"}, true}, {"/stint", []string{"CONFIG_TYPE=GRPC_XDS_SOTW"}, true},
	} {
		if got := readsRatelimit(tc.program, tc.environ); got != tc.want {
			t.Errorf("%s %q: %t", tc.program, tc.environ, got)
		}
	}
}

// Who is not let in is said at the start.
func TestRatelimitProtected(t *testing.T) {
	for _, tc := range []struct {
		change func(*config.Config)
		want   int
	}{
		{func(*config.Config) {}, 1},
		{func(c *config.Config) { c.ProtectedMode = false }, 0},
		{func(c *config.Config) { c.RequirePass = "#" }, 0},
		{func(c *config.Config) { c.GRPCListen, c.TLSClientCA = nil, "ca.pem" }, 0},
		{func(c *config.Config) { c.Dir = t.TempDir() }, 1},
	} {
		cfg, r := config.Default(), new(ratelimitEnv)
		cfg.GRPCListen = []string{":1"}
		tc.change(&cfg)
		dir := cfg.Dir
		if r.fit(&cfg); len(r.warnings) != tc.want || cfg.Dir != dir {
			t.Errorf("%v, want %d", r.warnings, tc.want)
		}
	}
}
