// Package compattest runs real Redis client libraries, unchanged, against a Stint server.
//
// TestClients builds the server, starts it on a free loopback port, and gives its address to one program per language.
// That program installs its pinned libraries with the language's own package client; README.md lists the checks.
// TestLimiters does the same with limiter libraries that were made for Redis and Lua, and TestUpstreamSuites runs such
// libraries' own tests. All are behind the build tag e2e: go test -tags e2e ./clients/compattest. The first run needs the
// network.
package compattest
