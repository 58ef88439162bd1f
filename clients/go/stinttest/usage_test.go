package stinttest_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/stinttest"
)

// TestPoliciesWarnAsTheServer: the warnings of checks, and the usage of a policy's limits.
func TestPoliciesWarnAsTheServer(t *testing.T) {
	real := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	defer real.Close()
	admin := redis.NewClient(&redis.Options{Addr: address})
	defer admin.Close()
	fake := fakeOfToday()
	ours := fake.Connect(stint.FailClosed())
	defer ours.Close()
	rules := []stinttest.Rule{
		{Key: "budget:{}", Limit: stint.Window(300, stint.Aligned(3650*24*time.Hour)).History(2).Warn(80)},
		{Key: "team:{}:{region}", Limit: stint.Window(400, stint.Aligned(3650*24*time.Hour))},
		{Key: "tokens:{}", Limit: stint.Per(7, days).Burst(500).Warn(50)},
	}
	fake.SetPolicy("budget", rules...)
	words := []any{"RL.POLICY", "SET", "budget"}
	for _, r := range rules {
		limit := strings.Fields(r.Limit.String())
		words = append(words, limit[0], r.Key)
		for _, word := range limit[1:] {
			words = append(words, word)
		}
	}
	if err := admin.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
	fields, random, warned := map[string]string{"region": "eu"}, rand.New(rand.NewPCG(5, 6)), 0
	for i := range 40 {
		r := stint.Request{Tokens: 1 + random.Int64N(30), Fields: fields, ShowWarn: i%3 > 0}
		got, gotErr := ours.CheckWith(t.Context(), "budget", "acme", r)
		want, wantErr := real.CheckWith(t.Context(), "budget", "acme", r)
		if gotErr != nil || wantErr != nil || got.Allowed != want.Allowed || got.Binding != want.Binding {
			t.Fatalf("check %d: %+v, %v; the server: %+v, %v", i, got, gotErr, want, wantErr)
		}
		for j := range want.Limits {
			if g, w := got.Limits[j], want.Limits[j]; g.Warn != w.Warn || g.Remaining != w.Remaining {
				t.Errorf("check %d, limit %d: %+v; the server: %+v", i, j, g, w)
			} else if g.Warn {
				warned++
			}
		}
		for _, id := range []string{"acme", "other"} {
			got, gotErr := ours.PolicyUsage(t.Context(), "budget", id, fields)
			want, wantErr := real.PolicyUsage(t.Context(), "budget", id, fields)
			if gotErr != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("usage %d of %s:\n%+v, %v; the server:\n%+v, %v", i, id, got, gotErr, want, wantErr)
			}
		}
	}
	if warned == 0 {
		t.Error("nothing warned")
	}
}

// A command that only the server has names the remedy, and so does a wrong zone.
func TestRefusals(t *testing.T) {
	fake := stinttest.NewFake()
	for command, want := range map[string]string{
		"RL.POLICY LIST": "use SetPolicy, or a real server from stinttest.Start", "RL.TOP": "start a real one for this test, with stinttest.Start",
		"FW.ACQUIRE k 10 @month 1 TZ Mars/Olympus":    "knows no zone 'Mars/Olympus' of @month",
		"FW.ACQUIRE k 10 @hour 1 TZ Europe/Berlin":    "knows no zone 'Europe/Berlin' of @hour",
		"FW.ACQUIRE k 10 @week 1 FROM 17":             "no beginning of @week, got '17'",
		"RL.ALL FW k 10 @week FROM monday BLOCK 1s":   "no BLOCK in RL.ALL",
		"FW.ACQUIRE k 10 @week 1 HISTORY 37 WARN 80%": "between 0 and 36, got '37'",
	} {
		if got := fake.Execute(strings.Fields(command)); !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q in it", command, got, want)
		}
	}
}
