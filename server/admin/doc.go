// Package admin is the HTTP server for operators at --admin: metrics for Prometheus, health for whoever starts and
// restarts servers, profiles, and a page to look at, with the JSON it is made of.
//
// It listens before the server it tells about is there, so that a probe learns that state is being recovered, and until
// after that one has drained.
package admin
