package metrics

const withEnvoy = "with `--grpc-listen`"

var envoyRows = []Row{{
	Name: "stint_envoy_decisions_total", Kind: Counter, When: withEnvoy, Labels: []string{"rule", "outcome"}, Bound: "the first 100 rules by file and line, shortened to 64 characters, and (other), times granted, denied and shadow_denied",
	Help: "Descriptors of Envoy by the rule that decided them, DOMAIN.KEY_VALUE.KEY; shadow_denied are those that shadow_mode granted and the limit would have denied.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if r.Envoy == nil {
			return
		}
		for _, c := range r.Envoy.Counts {
			emit(float64(c.Granted), c.Name, "granted")
			emit(float64(c.Denied), c.Name, "denied")
			emit(float64(c.ShadowDenied), c.Name, "shadow_denied")
		}
	},
}, {
	Name: "stint_envoy_rules", Kind: Gauge, When: withEnvoy, Help: "Rules of --rls-config in use.",
	values: fromEnvoy(func(e *EnvoyRules) int64 { return e.Rules }),
}, {
	Name: "stint_envoy_rules_refused_total", Kind: Counter, When: withEnvoy, Help: "Times that changed files of --rls-config were refused because of a mistake. The log has file and line.",
	values: fromEnvoy(func(e *EnvoyRules) int64 { return e.Refused }),
}}

func fromEnvoy(value func(e *EnvoyRules) int64) func(*Snapshot, func(float64, ...string)) {
	return func(r *Snapshot, emit func(float64, ...string)) {
		if r.Envoy != nil {
			emit(float64(value(r.Envoy)))
		}
	}
}
