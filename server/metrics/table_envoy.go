package metrics

// fromEnvoy makes the value of a metric about Envoy's rate limit service.
var fromEnvoy = of(func(r *Snapshot) *EnvoyRules { return r.Envoy })

// fromControl makes the value of a metric about the control plane that pushes rules.
var fromControl = of(func(r *Snapshot) *ControlPlane {
	if r.Envoy == nil {
		return nil
	}
	return r.Envoy.Control
})

const (
	withEnvoy = "with `--grpc-listen`"
	withXDS   = "with `--rls-xds`"
)

var envoyRows = []Row{{
	Name: "stint_envoy_decisions_total", Kind: Counter, When: withEnvoy, Labels: []string{"rule", "outcome"}, Bound: "the first 100 rules by file and line, shortened to 64 characters, and (other), each with granted, denied and shadow_denied",
	Help: "Descriptors of Envoy by the rule that decided them, DOMAIN.KEY_VALUE.KEY; shadow_denied are descriptors that shadow_mode granted although the limit would have denied them.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if r.Envoy != nil {
			emitChecks(r.Envoy.Counts, emit)
		}
	},
}, {
	Name: "stint_envoy_rules", Kind: Gauge, When: withEnvoy, Help: "Rules of --rls-config or --rls-xds in use.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Rules) }),
}, {
	Name: "stint_envoy_rules_refused_total", Kind: Counter, When: withEnvoy, Help: "Times that changed files of --rls-config were refused because of a mistake in them.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Refused) }),
}, {
	Name: "stint_envoy_rules_pushes_total", Kind: Counter, When: withXDS, Labels: []string{"outcome"}, Bound: "accepted and refused",
	Help: "Pushes of rules by the control plane.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if r.Envoy != nil && r.Envoy.Control != nil {
			emit(float64(r.Envoy.Control.Accepted), "accepted")
			emit(float64(r.Envoy.Control.Refused), "refused")
		}
	},
}, {
	Name: "stint_envoy_rules_connected", Kind: Gauge, When: withXDS, Help: "1 while the control plane is connected, else 0.",
	values: fromControl(func(c *ControlPlane) float64 { return zeroOrOne(c.Connected) }),
}, {
	Name: "stint_envoy_rules_age_seconds", Kind: Gauge, When: withXDS, Help: "Time since the rules in use were pushed, even if that was before a restart.",
	values: fromControl(func(c *ControlPlane) float64 { return c.Age.Seconds() }),
}, {
	Name: "stint_envoy_quota_streams", Kind: Gauge, When: withEnvoy, Help: "Open streams of Envoy's rate limit quota service.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Streams) }),
}, {
	Name: "stint_envoy_quota_buckets", Kind: Gauge, When: withEnvoy, Help: "Buckets with a limit on the streams of Envoy's quota service.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Buckets) }),
}, {
	Name: "stint_envoy_quota_reports_total", Kind: Counter, When: withEnvoy, Help: "Reports received on the streams of Envoy's quota service.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Reports) }),
}, {
	Name: "stint_envoy_quota_changes_total", Kind: Counter, When: withEnvoy, Help: "Assignments that changed a bucket's tokens or rate. Each takes tokens from the limit.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Changes) }),
}, {
	Name: "stint_envoy_quota_orphaned_total", Kind: Counter, When: withEnvoy, Help: "Buckets whose stream has ended. Their tokens count as spent once their time to live is over.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Orphaned) }),
}, {
	Name: "stint_envoy_quota_abandoned_total", Kind: Counter, When: withEnvoy, Help: "Buckets that Envoy was told to forget, because there were too many or an id was too long.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Abandoned) }),
}, {
	Name: "stint_envoy_quota_unanswered_total", Kind: Counter, When: withEnvoy, Help: "Times that a bucket got no assignment because its policy is missing or cannot be divided.",
	values: fromEnvoy(func(e *EnvoyRules) float64 { return float64(e.Quotas.Unanswered) }),
}}
