package settings

import (
	"slices"
	"strings"
)

// withoutEffect are the variables of envoyproxy/ratelimit that change nothing here, and what there is instead. A name
// that ends with _ stands for all that begin with it.
var withoutEffect = []struct{ names, instead string }{
	{"REDIS_ MEMCACHE_ BACKEND_TYPE LOCAL_CACHE_SIZE_IN_BYTES CACHE_KEY_PREFIX EXPIRATION_JITTER_MAX_SECONDS STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
		"limits are kept in this server; --dir keeps them across restarts"},
	{"USE_STATSD STATSD_HOST STATSD_PORT USE_DOG_STATSD USE_DOG_STATSD_MOGRIFIERS STATS_FLUSH_INTERVAL EXTRA_TAGS DISABLE_STATS NEAR_LIMIT_RATIO USE_PROMETHEUS PROMETHEUS_",
		"metrics are at /metrics of --admin"},
	{"DEBUG_HOST DEBUG_PORT", "profiles are at --admin with --pprof"},
	{"TRACING_ OTEL_", "there are no traces; RL.TOP, SLOWLOG and the metrics show requests"},
	{"GRPC_MAX_CONNECTION_AGE GRPC_MAX_CONNECTION_AGE_GRACE", "connections stay open; --idle-timeout closes idle ones"},
	{"GRPC_CLIENT_TLS_SAN", "every certificate signed by the CA is accepted"},
	{"CONFIG_GRPC_XDS_NODE_METADATA CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "the control plane gets only the node id"},
	{"CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL XDS_CLIENT_", "it reconnects after 1s to 30s, and accepts pushes of up to 16 MiB"},
	{"MERGE_DOMAIN_CONFIG", "two files or resources with one domain are refused"},
	{"RESPONSE_DYNAMIC_METADATA", "answers have no metadata"},
}

// asDefault are values that switch nothing on.
var asDefault = []string{"false", "0", "FALSE", "False"}

// warn collects the variables that have no effect. It leaves out those whose value is the default anyway.
func (r *ratelimitEnv) warn(environ []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if value == "" || slices.Contains(asDefault, value) {
			continue
		}
		if header, is := headerNames[name]; is && value != header {
			r.warnings = append(r.warnings, Warning{name, "the field is " + header})
		}
		for _, row := range withoutEffect {
			for other := range strings.FieldsSeq(row.names) {
				if name == other || strings.HasSuffix(other, "_") && strings.HasPrefix(name, other) {
					r.warnings = append(r.warnings, Warning{name, row.instead})
				}
			}
		}
	}
}
