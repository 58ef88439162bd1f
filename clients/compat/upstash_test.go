//go:build e2e

package compat

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// upstashAnswers is what Upstash's libraries read from their own service.
const upstashAnswers = `set: "OK"
get: "bär"
incr: 1
missing: null
hash: [2,{"f":"v","g":2}]
pipeline: ["OK",{"json":1}]
multi: [2,3]
eval: ["k","v",3]
error: true
password: true
fixedWindow: [[true,2,1],[true,2,0],[false,2,0],0,true]
slidingWindow: [[true,2,1],[true,2,0],[false,2,0],0,true]
tokenBucket: [[true,2,1],[true,2,0],[false,2,0],0,true]
`

// Upstash's libraries, @upstash/redis and @upstash/ratelimit, work with the HTTP port.
func TestUpstash(t *testing.T) {
	neverCached(t)
	require(t, "node", "Node.js 20 or later")
	require(t, "npm", "npm, which comes with Node.js")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	testserver.Start(t, testserver.Build(t, filepath.Join("..", "..")), "--http-listen", address, "--requirepass", "secret")
	inFolder(t, "upstash", "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	program := exec.Command("node", "upstash.mjs", "http://"+address, "secret")
	program.Dir = "upstash"
	output, err := program.CombinedOutput()
	if err != nil || string(output) != upstashAnswers {
		t.Errorf("%v: %s", err, output)
	}
}
