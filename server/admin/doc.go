// Package admin is the HTTP server for operators at --admin: metrics for Prometheus, health checks, profiles, and a
// page with its JSON.
//
// It starts before the server recovers its state and ends after the server has drained, so that probes can see both.
package admin
