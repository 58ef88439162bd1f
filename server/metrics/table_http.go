package metrics

import "strconv"

var httpRows = []Row{{
	Name: "stint_http_requests_total", Kind: Counter, When: "with `--http-listen`", Labels: []string{"path", "status"}, Bound: "the paths in `/openapi.json` and (other), each with the statuses sent; together fewer than 600",
	Help: "Answered HTTP requests by path and status.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		for _, c := range r.HTTP {
			emit(float64(c.Requests), c.Path, strconv.Itoa(c.Status))
		}
	},
}}
