package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/stintdb/stint/server/metrics"
)

// statuses bounds the statuses that are counted: each is below it.
const statuses = 600

// counts holds the number of answers by status.
type counts [statuses]atomic.Int64

// counted is a writer that counts the status of its answer.
type counted struct {
	http.ResponseWriter
	status int // 0 stands for 200, which Write implies
}

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// count counts a request that was answered.
func (s *Service) count(path string, status int) {
	of, known := s.counts[path]
	if !known {
		of = &s.elsewhere
	}
	of[cmp.Or(status, http.StatusOK)].Add(1)
}

// Measure implements [gateway.Measured].
func (s *Service) Measure(r *metrics.Snapshot) {
	for path, of := range s.counts {
		r.HTTP = of.measure(r.HTTP, path)
	}
	r.HTTP = s.elsewhere.measure(r.HTTP, metrics.OtherPaths)
	slices.SortFunc(r.HTTP, func(a, b metrics.HTTPCount) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Status, b.Status))
	})
}

// measure appends the counts that are not zero.
func (c *counts) measure(to []metrics.HTTPCount, path string) []metrics.HTTPCount {
	for status := range c {
		if n := c[status].Load(); n > 0 {
			to = append(to, metrics.HTTPCount{Path: path, Status: status, Requests: n})
		}
	}
	return to
}
