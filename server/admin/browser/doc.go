// Package browser tests the page for operators as people see it: in a headless Chromium, against a running server. It is
// a module of its own so that what it takes to drive a browser stays out of the server's dependencies.
package browser
