package admin

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/pprof"
	"net/url"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/admin/callers"
	"github.com/stintdb/stint/server/metrics"
)

//go:embed page
var pageFiles embed.FS

// handler maps paths to handlers.
func (a *Admin) handler(profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", a.ready)
	mux.HandleFunc("GET /metrics", a.secured(a.scrape))
	page, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	mux.Handle("GET /", http.FileServerFS(page)) // reveals nothing, so it needs no token
	for pattern, answer := range map[string]func(context.Context, *server.Server, *http.Request) (any, error){
		"GET /api/overview":        a.overview,
		"GET /api/history":         a.lastDay,
		"GET /api/policies":        a.policies,
		"GET /api/policy/usage":    callers.Usage,
		"GET /api/key":             a.key,
		"GET /api/limit":           a.keysOfLimit,
		"POST /api/policy/preview": a.preview,
		"POST /api/policy":         a.setPolicy,
		"GET " + policyFilePath:    a.policyFile,
		"POST " + policyFilePath:   a.setPolicyFile,
		"POST /api/key/reset":      a.resetKey,
		"POST /api/key/override":   a.override,
	} {
		mux.HandleFunc(pattern, a.withPassword(knownParameters(a.answer(answer))))
	}
	mux.HandleFunc("POST /api/backup", a.withBackupRights(knownParameters(a.backup)))
	if profiles {
		mux.HandleFunc("GET /debug/pprof/", a.withPassword(pprof.Index)) // without cmdline, which may contain passwords
		mux.HandleFunc("GET /debug/pprof/profile", a.withPassword(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/symbol", a.withPassword(pprof.Symbol))
		mux.HandleFunc("GET /debug/pprof/trace", a.withPassword(pprof.Trace))
	}
	return a.guard(mux)
}

// parametersOf are the parameters of paths.
var parametersOf = map[string][]string{"/api/overview": {"since", "node"}, "/api/history": {"node"}, "/api/key": {"key"}, "/api/policy/usage": {"policy", "cursor"}, "/api/limit": {"limit"}, "/api/backup": {"stale"}}

// knownParameters refuses requests with parameters that the path does not have, which would be ignored.
func knownParameters(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		for name, values := range query {
			if !slices.Contains(parametersOf[r.URL.Path], name) || len(values) > 1 {
				err = fmt.Errorf("%q is not a parameter of this path, or is given twice", name)
			}
		}
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		next(w, r)
	}
}

// ready is the readiness check for load balancers and clients: it reports whether this server answers requests.
func (a *Admin) ready(w http.ResponseWriter, _ *http.Request) {
	s := a.about.Load()
	reason := starting
	if s != nil {
		err := s.Ready()
		if err == nil {
			_, _ = w.Write([]byte("ready\n"))
			if warning := server.Warning(s); warning != "" {
				_, _ = w.Write([]byte(warning + "\n"))
			}
			return
		}
		reason = err.Error()
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(reason + "\n"))
}

func (a *Admin) scrape(w http.ResponseWriter, r *http.Request) {
	if a.about.Load() == nil {
		fail(w, http.StatusServiceUnavailable, starting)
		return
	}
	a.scraper.ServeHTTP(w, r)
}

// maxScrapes limits the scrapes that are answered at the same time.
const maxScrapes = 4

func (a *Admin) newScraper() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		metrics.NewCollector(func() *metrics.Snapshot { return a.about.Load().MetricsSnapshot() }),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
