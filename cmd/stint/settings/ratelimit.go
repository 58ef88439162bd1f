package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// ratelimitProgram is the program of envoyproxy/ratelimit. Called by its name or with its variable CONFIG_TYPE, a
// server reads the variables of that program.
const ratelimitProgram = "ratelimit"

const configType = "CONFIG_TYPE"

// The values of CONFIG_TYPE.
const (
	typeFile = "FILE"
	typeXDS  = "GRPC_XDS_SOTW"
)

// readsRatelimit reports whether the variables of envoyproxy/ratelimit are meant for this server.
func readsRatelimit(program string, environ []string) bool {
	return filepath.Base(program) == ratelimitProgram ||
		slices.Contains(environ, configType+"="+typeFile) || slices.Contains(environ, configType+"="+typeXDS)
}

// ratelimitEnv reads the variables of envoyproxy/ratelimit into settings. The first mistake ends it.
type ratelimitEnv struct {
	values   map[string]string // an empty one counts as not set
	found    []assignment
	warnings []Warning
	err      error
}

// Warning is a variable of envoyproxy/ratelimit that has no effect.
type Warning struct {
	Variable string
	Instead  string // what there is in its place
}

func readRatelimit(environ []string) *ratelimitEnv {
	r := &ratelimitEnv{values: map[string]string{}}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); value != "" {
			r.values[name] = value
		}
	}
	r.addresses()
	r.rules()
	r.log()
	r.headers()
	r.decisions()
	r.warn(environ)
	return r
}

// set gives a setting a value that comes from a variable.
func (r *ratelimitEnv) set(setting, text, from string) {
	s, known := config.Lookup(setting)
	if !known {
		panic("stint: no setting " + setting)
	}
	if text != "" {
		r.found = append(r.found, assignment{s, text, from})
	}
}

// setFrom gives a setting the value of a variable, if that is set.
func (r *ratelimitEnv) setFrom(setting, variable string) {
	r.set(setting, r.values[variable], variable)
}

// is reads a variable that is true or false, and false if it is not set.
func (r *ratelimitEnv) is(variable string) bool {
	text := r.values[variable]
	on, err := strconv.ParseBool(text)
	if text != "" && err != nil && r.err == nil {
		r.err = fmt.Errorf("%s: must be true or false, got %.100q", variable, text)
	}
	return on
}

// addresses reads the addresses of the gRPC service and of the health check, with the files of TLS.
func (r *ratelimitEnv) addresses() {
	r.set("health-listen", net.JoinHostPort(cmp.Or(r.values["HOST"], "0.0.0.0"), cmp.Or(r.values["PORT"], "8080")), "HOST and PORT")
	address, from := net.JoinHostPort(cmp.Or(r.values["GRPC_HOST"], "0.0.0.0"), cmp.Or(r.values["GRPC_PORT"], "8081")), "GRPC_HOST and GRPC_PORT"
	if path := r.values["GRPC_UDS"]; path != "" {
		address, from = "unix:"+path, "GRPC_UDS"
	}
	if !r.is("GRPC_SERVER_USE_TLS") {
		r.set("grpc-listen", address, from)
		return
	}
	r.set("grpc-tls-listen", address, from)
	r.setFrom("tls-cert", "GRPC_SERVER_TLS_CERT")
	r.setFrom("tls-key", "GRPC_SERVER_TLS_KEY")
	for _, name := range []string{"GRPC_SERVER_TLS_CA_CERT", "GRPC_CLIENT_TLS_CACERT"} { // the first is Envoy Gateway's name
		r.setFrom("tls-client-ca", name)
	}
}

// rules says where rules come from.
func (r *ratelimitEnv) rules() {
	switch t := cmp.Or(r.values[configType], typeFile); t {
	case typeFile:
		dir := filepath.Join(cmp.Or(r.values["RUNTIME_ROOT"], "/srv/runtime_data/current"), r.values["RUNTIME_SUBDIRECTORY"], cmp.Or(r.values["RUNTIME_APPDIRECTORY"], "config"))
		r.set("rls-config", dir, "RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY")
	case typeXDS:
		r.set("rls-xds", strings.TrimPrefix(cmp.Or(r.values["CONFIG_GRPC_XDS_SERVER_URL"], "localhost:18000"), "dns:///"), "CONFIG_GRPC_XDS_SERVER_URL")
		r.set("rls-xds-node", cmp.Or(r.values["CONFIG_GRPC_XDS_NODE_ID"], "default"), "CONFIG_GRPC_XDS_NODE_ID")
		if r.is("FORCE_START_WITHOUT_INITIAL_CONFIG") && !r.is("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED") {
			r.set("rls-xds-wait", "no", "FORCE_START_WITHOUT_INITIAL_CONFIG")
		}
		if r.is("CONFIG_GRPC_XDS_SERVER_USE_TLS") {
			r.set("rls-xds-tls", "yes", "CONFIG_GRPC_XDS_SERVER_USE_TLS")
			r.setFrom("rls-xds-tls-cert", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT")
			r.setFrom("rls-xds-tls-key", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY")
			r.setFrom("rls-xds-tls-ca", "CONFIG_GRPC_XDS_SERVER_TLS_CACERT")
			r.setFrom("rls-xds-tls-name", "CONFIG_GRPC_XDS_SERVER_TLS_SAN")
		}
	default:
		r.err = cmp.Or(r.err, fmt.Errorf("%s: must be %s or %s, got %.100q", configType, typeFile, typeXDS, t))
	}
}

// logLevels are the levels of that program that have another name here.
var logLevels = map[string]string{"trace": "debug", "warning": "warn", "fatal": "error", "panic": "error"}

func (r *ratelimitEnv) log() {
	level := strings.ToLower(r.values["LOG_LEVEL"])
	r.set("log-level", cmp.Or(logLevels[level], level), "LOG_LEVEL")
	r.setFrom("log-format", "LOG_FORMAT")
}

// headerNames are the fields of answers, which have these names here.
var headerNames = map[string]string{"LIMIT_LIMIT_HEADER": "RateLimit-Limit", "LIMIT_REMAINING_HEADER": "RateLimit-Remaining", "LIMIT_RESET_HEADER": "RateLimit-Reset"}

func (r *ratelimitEnv) headers() {
	if r.is("LIMIT_RESPONSE_HEADERS_ENABLED") {
		r.set("rls-headers", "yes", "LIMIT_RESPONSE_HEADERS_ENABLED")
	}
}

// decisions refuses variables that would change decisions: without them, requests would be denied that are let through
// there.
func (r *ratelimitEnv) decisions() {
	for variable, field := range map[string]string{"SHADOW_MODE": "shadow_mode: true", "QUOTA_MODE": "quota_mode: true"} {
		if r.is(variable) && r.err == nil {
			r.err = fmt.Errorf("%s: is not supported for all rules at once; write %s in the rules, and unset it", variable, field)
		}
	}
}

// imageDir is the directory that docker/Dockerfile names.
const imageDir = "/data"

// fit leaves out the directory of the image where nothing can be written, as in the deployments of that program,
// and warns of clients that are not let in.
func (r *ratelimitEnv) fit(cfg *config.Config) {
	if cfg.Dir == imageDir && !canWrite(imageDir) {
		cfg.Dir = ""
		r.warnings = append(r.warnings, Warning{"STINT_DIR", "nothing can be written to " + imageDir + ": limits are in memory; mount a volume to keep them"})
	}
	isOpen := len(cfg.GRPCListen) > 0 || cfg.TLSClientCA == ""
	if isOpen && cfg.ProtectedMode && cfg.RequirePass == "" && cfg.ACLFile == "" {
		r.warnings = append(r.warnings, Warning{"GRPC_HOST", "clients on other machines are refused: set STINT_REQUIREPASS, or TLS with GRPC_CLIENT_TLS_CACERT, or STINT_PROTECTED_MODE=no"})
	}
}

// canWrite reports whether files can be made in a directory.
func canWrite(dir string) bool {
	f, err := os.CreateTemp(dir, ".stint-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}
