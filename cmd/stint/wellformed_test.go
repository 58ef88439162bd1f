//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stintdb/stint/internal/testsize"
	table "github.com/stintdb/stint/server/command"
)

var wellFormed = flag.Int("well-formed", 1000, "requests of random but well-formed content by each protocol; a million every night")

// hostileWords are arguments in whose place another kind of argument may be expected.
var hostileWords = []string{"k", "k2", "m:1", "", "0", "1", "-1", "5", "100", "1/s", "10/m", "1/365d", "1e300", "0x10", "nan", "9223372036854775807", "-9223372036854775808",
	"18446744073709551616", "1h", "@day", "@month", "PEEK", "COST", "KEEP", "90%", "UPTO", "AS", "FOR", "WITH", "COUNT", "MATCH", "*", "?", "[", "TB", "SL", "FW", "CC", "NX", "XX",
	"EX", "GET", "LIMIT", "WITHSCORES", "-inf", "+inf", "(1", "return 1", "while true do end", "\x00\xff", strings.Repeat("x", 300)}

// notRandom are commands after which a connection no longer answers each command by one reply, and commands that wait.
var notRandom = regexp.MustCompile(`subscribe|^b[lrz]|^(quit|hello|reset|client|monitor|auth|multi|exec|discard|watch|wait|readonly|readwrite)`)

// randomCommand is a command of the table with about as many arguments as it takes.
func randomCommand(r *rand.Rand, rows []*table.Row) []string {
	row := rows[r.IntN(len(rows))]
	words := strings.Fields(strings.ReplaceAll(row.FullName, "|", " "))
	for range strings.Count(row.Syntax, " ") + 1 + r.IntN(3) {
		words = append(words, hostileWords[r.IntN(len(hostileWords))])
	}
	return words
}

// Requests that the parsers accept, with contents that nobody would send, are all answered, within the bound on memory.
// Random bytes alone, of which a parser refuses almost all, would test little else.
func TestWellFormedRequests(t *testing.T) {
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "shop.yaml"), []byte("domain: shop\ndescriptors:\n  - key: k\n    rate_limit: {unit: hour, requests_per_unit: 20}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startTarget(t, "--max-memory", "134217728", "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	a.lines().ask("ACL SETUSER default -@all +@all -@admin -@dangerous +info")
	r := rand.New(rand.NewPCG(testsize.Seed(), 0))
	t.Logf("seed: %d", testsize.Seed())
	commands := a.info("total_commands_processed")
	sendCommands(t, a, r)
	if n := a.info("total_commands_processed") - commands; n < int64(*wellFormed) {
		t.Errorf("the server counts %d commands, sent were %d", n, *wellFormed)
	}
	refused := sendHTTP(t, a, r)
	t.Logf("HTTP: %d of %d refused for their content", refused, *wellFormed)
	if refused > *wellFormed*3/4 {
		t.Errorf("%d of %d requests over HTTP were refused: they test little", refused, *wellFormed)
	}
	sendGRPC(t, a, r)
	if resident := a.resident(); resident > 134217728/10*11 {
		t.Errorf("%d MB resident under --max-memory of 128 MB", resident>>20)
	}
	if got := a.lines().ask("PING"); got != "+PONG" {
		t.Errorf("PING is answered %q", got)
	}
}

func sendCommands(t *testing.T, a *target, r *rand.Rand) {
	var rows []*table.Row
	for i := range table.Table {
		all := []*table.Row{&table.Table[i]}
		for j := range table.Table[i].Sub {
			all = append(all, &table.Table[i].Sub[j])
		}
		for _, row := range all {
			if !row.IsContainer() && row.Flags&(table.Admin|table.Dangerous) == 0 && !notRandom.MatchString(row.FullName) {
				rows = append(rows, row)
			}
		}
	}
	c, err := dialExact(a.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const atOnce = 50
	for range *wellFormed/atOnce + 1 {
		var batch [][]string
		for range atOnce {
			batch = append(batch, randomCommand(r, rows))
		}
		if err := c.send(batch...); err != nil {
			t.Fatal(err)
		}
		for _, words := range batch {
			if reply, err := c.reply(); err != nil {
				t.Fatalf("%q: %.200q, %v", words, reply, err)
			}
		}
	}
}

// sendHTTP returns how many requests were refused.
func sendHTTP(t *testing.T, a *target, r *rand.Rand) (refused int) {
	address := "http://" + a.Listening(t, "HTTP")
	word := func() string { return hostileWords[1+r.IntN(len(hostileWords)-1)] }
	var client http.Client
	defer client.CloseIdleConnections()
	for i := range *wellFormed {
		limit := map[string]any{"algorithm": "TB", "key": word(), "capacity": 1 + r.IntN(100), "rate": fmt.Sprint(1+r.IntN(9), "/m"), "cost": r.IntN(3)}
		body := map[string]any{"limits": []any{limit}}
		switch i % 8 {
		case 0:
			limit["key"] = strings.ToValidUTF8(word(), "") + fmt.Sprint(i)
		case 1:
			body["as"], body["for"] = fmt.Sprint("id", i), "1m"
		case 2:
			body["peek"] = true
		case 3:
			body[word()] = word() // an unknown field, or one of another kind
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Post(address+"/v1/check", "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode >= 500 {
			t.Errorf("%s: %s %s, %v", text, response.Status, answer, err)
		}
		if !slices.Contains([]int{200, 429}, response.StatusCode) {
			refused++
		}
	}
	return refused
}

func sendGRPC(t *testing.T, a *target, r *rand.Rand) {
	conn, err := grpc.NewClient(a.Listening(t, "gRPC"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	service, decided := ratelimit.NewRateLimitServiceClient(conn), 0
	for range *wellFormed {
		request := &ratelimit.RateLimitRequest{Domain: []string{"shop", "shop", "shop", "other"}[r.IntN(4)], HitsAddend: uint32(r.IntN(3))}
		for range 1 + r.IntN(3) {
			d := &extension.RateLimitDescriptor{}
			for range 1 + r.IntN(2) {
				value := strings.ToValidUTF8(hostileWords[r.IntN(len(hostileWords))], "?")
				d.Entries = append(d.Entries, &extension.RateLimitDescriptor_Entry{Key: []string{"k", "k", value}[r.IntN(3)], Value: value})
			}
			request.Descriptors = append(request.Descriptors, d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), replyTimeout)
		response, err := service.ShouldRateLimit(ctx, request)
		cancel()
		if err == nil && len(response.Statuses) == len(request.Descriptors) {
			decided++
		}
	}
	t.Logf("gRPC: %d of %d decided", decided, *wellFormed)
	if decided < *wellFormed/2 {
		t.Errorf("%d of %d requests over gRPC were decided: the others test little", decided, *wellFormed)
	}
}
