package metrics

import "strconv"

var httpRows = []Row{{
	Name: "stint_http_requests_total", Kind: Counter, When: "with `--http-listen`", Labels: []string{"path", "status"}, Bound: "the paths of `/openapi.json` and (other), times the statuses sent; below 600",
	Help: "Answered HTTP requests by path and status.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for _, c := range r.HTTP {
			emit(float64(c.Requests), c.Path, strconv.Itoa(c.Status))
		}
	},
}}
