package metrics

import "github.com/stintdb/stint/server/upstream"

// fromHome makes the value of a metric about the home cluster.
var fromHome = of(func(r *Snapshot) *upstream.Status { return r.Upstream })

const withUpstream = "with `--upstream`"

var upstreamRows = []Row{{
	Name: "stint_upstream_connected", Kind: Gauge, When: withUpstream, Help: "1 while this server is connected to the home cluster.",
	values: fromHome(func(s *upstream.Status) float64 { return zeroOrOne(s.Connected) }),
}, {
	Name: "stint_upstream_keys", Kind: Gauge, When: withUpstream, Help: "Keys with a loan from the home cluster.",
	values: fromHome(func(s *upstream.Status) float64 { return float64(s.Purses) }),
}, {
	Name: "stint_upstream_requests_total", Kind: Counter, When: withUpstream, Labels: []string{"outcome"}, Bound: "local, home, denied-again, failed, uncertain, granted-alone, denied-alone",
	Help: "Requests for keys of the home cluster, by outcome. local: this server granted the request from lent tokens. denied-again: it denied the request, because home had just denied one for the same key. home: home decided. granted-alone and denied-alone: home did not answer, so this server did what --upstream-down says. failed and uncertain: the request got the error UPSTREAM or UNCERTAIN.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if s := r.Upstream; s != nil {
			emit(float64(s.Local), "local")
			emit(float64(s.Asked), "home")
			emit(float64(s.Repeated), "denied-again")
			emit(float64(s.Failed), "failed")
			emit(float64(s.Uncertain), "uncertain")
			emit(float64(s.GrantedAlone), "granted-alone")
			emit(float64(s.DeniedAlone), "denied-alone")
		}
	},
}, {
	Name: "stint_upstream_lends_total", Kind: Counter, When: withUpstream, Help: "Operations on loans that the home cluster has executed for this server.",
	values: fromHome(func(s *upstream.Status) float64 { return float64(s.Lends) }),
}, {
	Name: "stint_upstream_tokens_total", Kind: Counter, When: withUpstream, Labels: []string{"kind"}, Bound: "lent, returned, dropped",
	Help: "Tokens of the home cluster that were lent to this server, returned by it, or dropped. Tokens are dropped after a restart or the end of a loan, and count as spent.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if s := r.Upstream; s != nil {
			emit(float64(s.Lent), "lent")
			emit(float64(s.Returned), "returned")
			emit(float64(s.Dropped), "dropped")
		}
	},
}}
