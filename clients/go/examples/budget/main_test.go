package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// TestCallsStayWithinTheBudget runs the program with the recipe's policy, for a dollar in a window that does not end in
// the test.
func TestCallsStayWithinTheBudget(t *testing.T) {
	const budget, cost = 1_000_000, 58_500
	page, err := os.ReadFile("../../../../docs/recipes/budgets.md")
	if err != nil {
		t.Fatal(err)
	}
	policy := regexp.MustCompile(`(?m)^> (RL\.POLICY SET budget .*)$`).FindSubmatch(page)[1]
	var words []any
	for _, word := range strings.Fields(strings.NewReplacer(" 500000000 ", fmt.Sprintf(" %d ", budget), "@month", "87600h").Replace(string(policy))) {
		words = append(words, word)
	}
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	rdb := redis.NewClient(&redis.Options{Addr: server.Address})
	defer rdb.Close()
	if err := rdb.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
	limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(time.Minute))
	defer limiter.Close()
	var out bytes.Buffer
	if err := run(t.Context(), limiter, &out); err != nil {
		t.Fatal(err)
	}
	usages, err := limiter.PolicyUsage(t.Context(), "budget", "acme", map[string]string{"user": "ann"})
	if err != nil || len(usages) != 2 {
		t.Fatal(usages, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	warnings, end := lines[:max(0, len(lines)-3)], lines[max(0, len(lines)-3):]
	used := usages[0].Used
	answers := used / cost
	want := []string{
		fmt.Sprintf("%d answers, %d denials", answers, 200-answers),
		fmt.Sprintf("tenant:acme: $%.4f of $1.00", float64(used)/1e6), fmt.Sprintf("user:acme:ann: $%.4f of $50.00", float64(used)/1e6),
	}
	if !slices.Equal(end, want) || used != answers*cost || usages[0].Remaining != budget-used || usages[0].Reserved != 0 {
		t.Errorf("%q, want %q; %+v", end, want, usages)
	}
	if answers < 6 || answers > 15 { // 6 reservations of 150,000 fit; a 16th does not, even if all before are settled
		t.Errorf("%d answers", answers)
	}
	if warnings = slices.Compact(warnings); !slices.Equal(warnings, []string{"80 % of a budget of acme are used"}) {
		t.Errorf("warnings: %q", warnings)
	}
}
