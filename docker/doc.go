// Package docker tests what stands beside a server: the dashboard for Grafana and the alerts for Prometheus, every query of
// them read by Prometheus's own parser and held against what running servers export. It is a module of its own so that
// Prometheus stays out of the server's dependencies.
package docker
