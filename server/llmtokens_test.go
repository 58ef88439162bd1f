package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// The limits of a tenant in the policy of the recipe.
const (
	tenantCapacity = 100_000
	tenantPerMin   = 100_000
	tenantPosition = 2
)

// modelCall is one call to a language model.
type modelCall struct {
	tenant         string
	begun, settled int64 // nanoseconds; settled is 0 while it is in progress
	reserved, cost int64
}

// used is the part of its tenant's budget that the call has at a time.
func (c *modelCall) used(at int64) int64 {
	if c.settled == 0 || c.settled > at {
		return c.reserved
	}
	return c.cost
}

// caller makes one call after another.
type caller struct {
	name, tenant, user string
	polite             bool
	next               int64 // when it acts next
	count              int
	current            *modelCall
}

// llmGateway plays callers of a language model by the server's clock, with the commands of the recipe.
type llmGateway struct {
	*sessionPlayer
	t                     *testing.T
	random                *rand.Rand
	policy, check, settle string
	calls                 []*modelCall
	denied                map[string]int // by the tenant's limit
}

func newGateway(t *testing.T) *llmGateway {
	page, err := os.ReadFile("../docs/recipes/llm-tokens.md")
	if err != nil {
		t.Fatal(err)
	}
	find := func(pattern string) string {
		found := regexp.MustCompile("(?m)^> (" + pattern + ")$").FindSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no command like %s", pattern)
		}
		return string(found[1])
	}
	g := &llmGateway{sessionPlayer: newSessionPlayer(t, 0), t: t, random: rand.New(rand.NewPCG(7, 7)), denied: map[string]int{},
		policy: find("RL.POLICY SET llm .*{call}"), check: find("RL.CHECK llm ann 8000 AS call-1 .*"), settle: find("RL.SETTLE call-1 5500")}
	if reply := g.command("operator", g.policy); reply != "+OK" {
		t.Fatal(reply)
	}
	return g
}

func (g *llmGateway) command(name, line string) string {
	reply, err := g.Do(name, bytesOf(strings.Fields(line)), "")
	if err != nil {
		g.t.Fatal(err)
	}
	return reply
}

// array reads a reply of integers. None of its limits may be below zero: remaining is the number before the last.
func (g *llmGateway) array(reply string, limits func(reply []any) []any) []any {
	var all []any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(reply, " ", ",")), &all); err != nil {
		g.t.Fatalf("%s: %v", reply, err)
	}
	for _, limit := range limits(all) {
		numbers := limit.([]any)
		if numbers[len(numbers)-2].(float64) < 0 {
			g.t.Errorf("over its budget: %s", reply)
		}
	}
	return all
}

// act has a caller ask, or settle.
func (g *llmGateway) act(c *caller) {
	now := g.clock.Now()
	id := fmt.Sprintf("call:%s:%s:%d", c.tenant, c.name, c.count)
	if call := c.current; call != nil {
		line := strings.NewReplacer("call-1", id, "5500", fmt.Sprint(call.cost)).Replace(g.settle)
		if call.cost == 0 {
			line = "RL.CANCEL " + id
		}
		for range 1 + g.random.IntN(2) { // a lost reply
			g.array(g.command(c.name, line), func(reply []any) []any { return reply })
		}
		call.settled, c.current = now, nil
		c.next = now + g.span(time.Second)
		if c.polite {
			c.next = call.begun + int64(30*time.Second)
		}
		c.count++
		return
	}
	call := &modelCall{tenant: c.tenant, begun: now, reserved: 1 + g.random.Int64N(8000)}
	call.cost = g.random.Int64N(call.reserved + 1)
	if g.random.IntN(10) == 0 {
		call.cost = 0
	}
	line := strings.NewReplacer("call-1", id, "ann", c.user, "8000", fmt.Sprint(call.reserved), "acme", c.tenant).Replace(g.check)
	for range 1 + g.random.IntN(2) {
		reply := g.array(g.command(c.name, line), func(reply []any) []any { return reply[3].([]any) })
		if granted := int64(reply[0].(float64)); granted == 0 {
			g.deny(c, now, reply)
			return
		} else if granted != call.reserved {
			g.t.Fatalf("%s: %v", line, reply)
		}
	}
	g.calls = append(g.calls, call)
	c.current, c.next = call, now+g.span(4*time.Second)
}

func (g *llmGateway) deny(c *caller, now int64, reply []any) {
	if c.polite {
		g.t.Errorf("%s of %s is denied: %v", c.name, c.tenant, reply)
	}
	if reply[1].(float64) == tenantPosition {
		g.denied[c.tenant]++
	}
	c.next = now + g.span(time.Second)
}

func (g *llmGateway) span(most time.Duration) int64 { return 1 + g.random.Int64N(int64(most)) }

// checkBudget holds a tenant to its budget, in every span that begins with a call. Unused reservations that come back
// in a span are of calls before it.
func (g *llmGateway) checkBudget(tenant string) (used int64) {
	calls := slices.DeleteFunc(slices.Clone(g.calls), func(c *modelCall) bool { return c.tenant != tenant })
	for i, first := range calls {
		late := int64(0)
		for _, before := range calls[:i] {
			if before.settled == 0 || before.settled > first.begun {
				late += before.reserved - before.cost
			}
		}
		for j := i; j < len(calls); j++ {
			at := calls[j].begun
			used = 0
			for _, c := range calls[i : j+1] {
				used += c.used(at)
			}
			if (used-late-tenantCapacity)*int64(time.Minute) > tenantPerMin*(at-first.begun) {
				g.t.Fatalf("%s used %d in %v, and %d were in progress before", tenant, used, time.Duration(at-first.begun), late)
			}
		}
	}
	used = 0
	for _, c := range calls {
		used += c.cost
	}
	return used
}

// 50 callers of three tenants play the recipe for minutes. Two tenants want more than their budgets and never get over
// it; the third is never denied. Then a call that costs more than it reserved is charged all of it.
func TestLLMTokensRecipe(t *testing.T) {
	g := newGateway(t)
	var callers []*caller
	for n := range 50 {
		c := &caller{name: fmt.Sprint("caller-", n), tenant: "acme", user: fmt.Sprint("user-", n%6), next: g.clock.Now() + g.span(time.Second)}
		switch {
		case n >= 45:
			c.tenant, c.user, c.polite = "initech", c.name, true
		case n >= 30:
			c.tenant, c.user = "globex", fmt.Sprint("user-", n%3)
		}
		callers = append(callers, c)
	}
	span := time.Duration(min(testsize.Pick(4, 10), 10)) * time.Minute // the check of budgets takes its cube
	for end := g.clock.Now() + int64(span); ; {
		c := slices.MinFunc(callers, func(a, b *caller) int { return int(a.next - b.next) })
		if c.next > end {
			break
		}
		g.Advance(time.Duration(c.next - g.clock.Now()))
		g.act(c)
	}
	for _, tenant := range []string{"acme", "globex", "initech"} {
		used := g.checkBudget(tenant)
		t.Logf("%s used %d, denied %d times by its limit", tenant, used, g.denied[tenant])
		budget := tenantCapacity + tenantPerMin*int64(span/time.Minute)
		if hungry := tenant != "initech"; hungry && (used < budget*9/10 || g.denied[tenant] == 0) || used == 0 {
			t.Errorf("%s used %d of %d, and was denied %d times", tenant, used, budget, g.denied[tenant])
		}
	}
	g.Advance(time.Hour)
	for _, c := range []struct{ after, command, want string }{
		{"0s", "RL.CHECK llm zoe 8000 AS long FOR 10m WITH tenant acme model large call long", "[8000 -1 0 [[20 19 3000] [60000 52000 8000] [100000 92000 4800] [1000000 992000 480] [5 4 600000]]]"},
		{"0s", "RL.SETTLE long 130000", "[[1 20 19 3000] [130000 60000 -70000 130000] [130000 100000 -30000 78000] [130000 1000000 870000 7800] [0 5 5 0]]"},
		{"0s", "RL.CHECK llm zoe 8000 AS other FOR 10m WITH tenant globex model large call other", "[8000 -1 0 [[20 19 3000] [60000 52000 8000] [100000 92000 4800] [1000000 862000 8280] [5 4 600000]]]"},
		{"18s", "RL.CHECK llm ann 1 AS next FOR 10m WITH tenant acme model large call next", "[0 2 1 [[20 20 0] [60000 60000 0] [100000 0 60000] [1000000 1000000 0] [5 5 0]]]"},
		{"1ms", "RL.CHECK llm ann 1 AS next FOR 10m WITH tenant acme model large call next", "[1 -1 0 [[20 19 3000] [60000 59999 1] [100000 0 60000] [1000000 999999 1] [5 4 600000]]]"},
	} {
		after, _ := time.ParseDuration(c.after)
		g.Advance(after)
		if reply := g.command("operator", c.command); reply != c.want {
			t.Errorf("%s\n%s, want\n%s", c.command, reply, c.want)
		}
	}
}
