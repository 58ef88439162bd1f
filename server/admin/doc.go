// Package admin is the HTTP server for operators at --admin: metrics for Prometheus, health checks,
// profiles, and a page with its JSON.
//
// It listens from before the server has recovered its state, so that a probe can see that, until after the server has drained.
package admin
