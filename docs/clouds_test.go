//go:build e2e

package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// cloudProgram calls the Lambda authorizer and the Worker of the page about gateways three times each, and once without
// Stint. Its words are the address of Stint and that of the application.
const cloudProgram = `
import { handler } from "./lambda.mjs"
import worker from "./worker.mjs"
const [stint, application] = process.argv.slice(2)
const decide = async (url) => {
  process.env.LIMITER_URL = url
  const answer = await handler({ requestContext: { identity: { sourceIp: "192.0.2.1" } }, methodArn: "arn" })
  return answer.policyDocument.Statement[0].Effect
}
const forward = async (url) => {
  const request = new Request(application, { headers: { "cf-connecting-ip": "2001:db8::1" } })
  const answer = await worker.fetch(request, { LIMITER_URL: url })
  return answer.status + (answer.headers.has("retry-after") ? " with Retry-After" : "")
}
for (const ask of [decide, forward]) {
  for (const url of [stint, stint, stint, "http://127.0.0.1:1"]) console.log(await ask(url))
}
`

var abortAfter = regexp.MustCompile(`AbortSignal\.timeout\(\d+\)`)

// TestCloudCode runs the code for AWS API Gateway and for Cloudflare in Node.js.
func TestCloudCode(t *testing.T) {
	require(t, installed("node"), "node", "Node.js 20")
	blocks, dir := blocksOf(t, gatewaysPage)["js"], t.TempDir()
	if len(blocks) != 2 {
		t.Fatalf("%s has %d programs", gatewaysPage, len(blocks))
	}
	for i, name := range []string{"lambda.mjs", "worker.mjs"} { // which a busy machine would not let wait for Stint
		save(dir, name, abortAfter.ReplaceAllString(blocks[i], "AbortSignal.timeout(50000)"))
	}
	_, door := startWithHTTP(t, buildServer(t))
	policy := `["RL.POLICY","SET","api","TB","ip:{}",2,"1/h"]`
	if status, _, body := sendExample(t, "http://"+door, []string{"POST /", policy}); status != "200" {
		t.Fatal(body)
	}
	node := testserver.Command(t, "node", save(dir, "program.mjs", cloudProgram), "http://"+door, "http://"+startApplication(t))
	out, err := node.CombinedOutput()
	if got := strings.Fields(strings.ReplaceAll(string(out), " with ", "+")); err != nil ||
		strings.Join(got, " ") != "Allow Allow Deny Allow 200 200 429+Retry-After 200" {
		t.Errorf("%v\n%s", err, out)
	}
}
