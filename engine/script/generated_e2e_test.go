//go:build e2e

package script

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testscripts"
	"github.com/stintdb/stint/internal/testsize"
)

var generated = flag.Int("generated", 1000, "how many scripts of each kind TestGenerated compares with each server")

// differs lists texts of replies that are known to differ, with the reason.
var differs = []string{
	"nan",                         // its sign
	"0x", "table: ", "function: ", // addresses
	"setresp(3)",     // is not supported
	"stack overflow", // after 200 calls; Redis counts those of Lua apart from those of C
}

// ofValkey turns a reply of Redis into that of Valkey, whose scripts may be written in other languages than Lua.
var ofValkey = strings.NewReplacer(
	"ERR redis.", "ERR server.",
	"ERR Please specify at least one argument for this redis lib call", "ERR Please specify at least one argument for this call",
	"ERR Lua redis lib command arguments must", "ERR Command arguments must",
	"ERR Unknown Redis command called from script", "ERR Unknown command called from script",
	"ERR Wrong number of args calling Redis command", "ERR Wrong number of args calling command",
	"ERR Invalid debug level.", "ERR Invalid log level.",
)

// digests are the names of scripts in errors, which Valkey leaves out, and sizes the lengths of texts.
var (
	digests = regexp.MustCompile(` script: [0-9a-f]{40}, on `)
	sizes   = regexp.MustCompile(`\$\d+\r\n`)
)

// ownReplies lists what makes generated scripts reply otherwise, with the reason.
var ownReplies = []string{
	"assert({",  // Redis calls the value of a failed assert a nil
	"random",    // has a state of its own in each run
	"#tostring", // an address of Redis has four digits more
	"'%c'",      // what C makes of a number that is no int
}

// deepCalls are calls that nest until the stack overflows here. Redis lets functions of Lua nest a hundred times as
// deep, so a script that catches the error goes on differently, even if its reply shows no error.
var deepCalls = regexp.MustCompile(`\bh\((19\d|[23]\d\d)\)`)

// growingLoops are loops over all fields of a table to which they add some, which Lua leaves undefined. They see only
// the fields at their beginning here, and may never end in Redis.
var growingLoops = regexp.MustCompile(`(?s)in (pairs|next).{0,500}t\[#t \+ 1\]`)

// TestGenerated runs the same generated scripts here, on a real Redis and on a real Valkey: expressions, and programs of
// statements. Replies, the texts of errors and the keys that are left must be equal.
func TestGenerated(t *testing.T) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		t.Run(program, func(t *testing.T) {
			server := startServer(t, program)
			g := testscripts.Generator{Rand: rand.New(rand.NewPCG(testsize.Seed(), 2))}
			here, there := runHere, server.runGenerated
			if program == "valkey-server" {
				here = func(body string) string {
					reply := digests.ReplaceAllString(ofValkey.Replace(runHere(body)), " script: on ")
					return sizes.ReplaceAllString(reply, "$$")
				}
				there = func(body string) string { return sizes.ReplaceAllString(server.runGenerated(body), "$$") }
			}
			t.Run("expressions", func(t *testing.T) { compareGenerated(t, g.Script, here, there) })
			t.Run("programs", func(t *testing.T) { compareGenerated(t, g.Program, here, there) })
		})
	}
}

func compareGenerated(t *testing.T, write func() string, here, there func(body string) string) {
	count := *generated
	differing := 0
	body := ""
	defer func() {
		if failed := recover(); failed != nil {
			t.Fatalf("%s\n%v", body, failed)
		}
	}()
	for range count {
		body = deepCalls.ReplaceAllString(write(), "h(100)")
		isOwn := func(text string) bool { return strings.Contains(body, text) }
		if slices.ContainsFunc(ownReplies, isOwn) || growingLoops.MatchString(body) {
			continue
		}
		got := here(body)
		if strings.Contains(got, "takes more than its budget") {
			continue // it might never end in Redis, whose scripts have no budget
		}
		want := there(body)
		isKnown := func(text string) bool { return strings.Contains(got, text) || strings.Contains(want, text) }
		if got != want && !slices.ContainsFunc(differs, isKnown) {
			differing++
			t.Logf("%s\nhere  %.300q\nthere %.300q", body, got, want)
		}
	}
	if differing > count/10_000 { // the last digit of a power, and names in rare error texts
		t.Errorf("%d of %d differ", differing, count)
	}
}

// runHere runs a script, and returns its reply with the keys that it leaves.
func runHere(body string) string {
	m := newMemory()
	text := string(eval(body, m))
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		text += fmt.Sprintf("%q is %q\n", key, m.values[key])
	}
	return text
}

// runGenerated is runHere on the server.
func (r *redisServer) runGenerated(body string) string {
	call := func(words ...string) []byte {
		args := make([][]byte, len(words))
		for i, word := range words {
			args[i] = []byte(word)
		}
		reply, _ := r.Call(nil, args, nil)
		return reply
	}
	r.conn.SetDeadline(time.Now().Add(20 * time.Second))
	call("FLUSHALL")
	text := string(r.eval(body, testKeys, testArgs))
	keys := textsOf(call("KEYS", "*"))
	slices.Sort(keys)
	for _, key := range keys {
		_, value, _ := bytes.Cut(call("GET", key), []byte("\r\n"))
		text += fmt.Sprintf("%q is %q\n", key, bytes.TrimSuffix(value, []byte("\r\n")))
	}
	return text
}
