//go:build e2e

package compattest

import (
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
	server := testserver.StartServer(t, testserver.Build(t, filepath.Join("..", "..")), "--http-listen", "127.0.0.1:0", "--requirepass", "secret")
	inFolder(t, "upstash", "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
	program := testserver.Command(t, "node", "upstash.mjs", "http://"+server.Listening(t, "HTTP"), "secret")
	program.Dir = "upstash"
	output, err := program.CombinedOutput()
	if err != nil || string(output) != upstashAnswers {
		t.Errorf("%v: %s", err, output)
	}
}
