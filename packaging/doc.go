// Package packaging tests the ways in which Stint is rolled out: the image and the compose files in docker, and here the
// systemd unit, releases with the Debian package, and the manifests for Kubernetes. Every setting they give is read as the
// server reads it. It is a module of its own so that the tools of packaging stay out of the server's dependencies.
package packaging
