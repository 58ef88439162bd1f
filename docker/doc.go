// Package docker tests the Grafana dashboard and the Prometheus alerts. Prometheus's parser reads every query, and the
// tests check it against the metrics of running servers. It is a separate module so that Prometheus stays out of the
// server's dependencies.
package docker
