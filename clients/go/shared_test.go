package stint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"reflect"
	"strings"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestFairShare: a member that floods leaves room for another, and the list of members has both.
func TestFairShare(t *testing.T) {
	l := connect(t)
	pool := stint.PerDay(1).Burst(90)
	taken := map[string]int64{}
	for _, step := range []struct {
		name   string
		weight int64
		n      int
	}{{"flood", 1, 100}, {"small", 3, 2}} {
		for range step.n {
			r, err := l.Allow(t.Context(), t.Name(), pool.Member(step.name, step.weight))
			if err != nil {
				t.Fatal(err)
			}
			taken[step.name] += r.Granted
		}
	}
	if taken["flood"] != 80 || taken["small"] != 2 { // eight ninths for one alone
		t.Errorf("granted %v", taken)
	}
	members, err := l.Members(t.Context(), t.Name())
	if want := []stint.PoolMember{{"flood", 1, 80}, {"small", 3, 2}}; err != nil || !reflect.DeepEqual(members, want) {
		t.Errorf("members %v, %v, want %v", members, err, want)
	}
	m, err := l.All(t.Context(), stint.On(t.Name(), pool.Member("third", 2)).Cost(3), stint.On(t.Name()+"2", stint.PerDay(5).Adaptive(1)))
	if err != nil || !m.Allowed || m.Limits[1].Remaining != 4 {
		t.Errorf("All: %+v, %v", m, err)
	}
}

// TestClassesBorrow: a class takes its assured tokens while another has borrowed the rest, and no more than its
// ceiling.
func TestClassesBorrow(t *testing.T) {
	l := connect(t)
	class := func(name string) stint.Class {
		return stint.Class{
			Key: t.Name() + name, Assured: stint.PerDay(1).Burst(10), Ceiling: stint.PerDay(2).Burst(25),
			Under: []stint.Keyed{stint.On(t.Name()+"root", stint.PerDay(6).Burst(60))},
		}
	}
	if r, err := l.PeekClass(t.Context(), class("pro"), 1); err != nil || !r.Allowed || r.Limit != 25 {
		t.Errorf("peek: %+v, %v", r, err)
	}
	if _, err := l.AllowClass(t.Context(), class("pro")); err != nil {
		t.Fatal(err)
	}
	if r, err := l.AllowClassN(t.Context(), class("free"), 26); err != nil || r.Allowed || r.RetryAfter != stint.Never {
		t.Errorf("more than the ceiling: %+v, %v", r, err)
	}
	borrowed := int64(0)
	for range 40 {
		r, err := l.AllowClass(t.Context(), class("free"))
		if err != nil {
			t.Fatal(err)
		}
		borrowed += r.Granted
	}
	if borrowed != 25 {
		t.Errorf("a class of the ceiling 25 got %d", borrowed)
	}
	if r, err := l.AllowClassN(t.Context(), class("pro"), 9); err != nil || !r.Allowed {
		t.Errorf("assured tokens: %+v, %v", r, err)
	}
}

// TestAdaptiveFollowsReports: bad calls lower the rate, and a pause stops everybody.
func TestAdaptiveFollowsReports(t *testing.T) {
	l, key, limit := connect(t), t.Name(), stint.PerHour(100).Burst(50).Adaptive(5)
	if _, known, err := l.Report(t.Context(), key, stint.Report{Bad: 1}); known || err != nil {
		t.Errorf("a report to no limiter: known %v, %v", known, err)
	}
	if r, err := l.AllowN(t.Context(), key, limit, 10); err != nil || !r.Allowed || r.Remaining != 40 {
		t.Fatalf("%+v, %v", r, err)
	}
	var pace stint.Pace
	waitFor(t, "the rate falls once a millisecond is over", func() bool {
		after, known, err := l.Report(t.Context(), key, stint.Report{Good: 1, Bad: 1, Every: time.Millisecond, Down: 36})
		if err != nil || !known {
			t.Fatalf("known %v, %v", known, err)
		}
		pace = after
		return pace.PerSecond < 99.0/3600
	})
	if want := 36.0 / 3600; pace.PerSecond > want || pace.PerSecond < want-1e-8 {
		t.Errorf("after bad calls: %+v", pace)
	}
	if pace, _, err := l.Report(t.Context(), key, stint.Report{Bad: 1, Pause: time.Hour}); err != nil || pace.Pause < 59*time.Minute {
		t.Errorf("after a pause: %+v, %v", pace, err)
	}
	if r, err := l.Allow(t.Context(), key, limit); err != nil || r.Allowed || r.RetryAfter < 59*time.Minute {
		t.Errorf("in the pause: %+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.Wait(ctx, key, limit); !errors.Is(err, stint.ErrWouldExceedDeadline) {
		t.Errorf("Wait in the pause: %v", err)
	}
}

// TestWaitOutlastsAPause: Wait goes on when the pause is over.
func TestWaitOutlastsAPause(t *testing.T) {
	l, key, limit := connect(t), t.Name(), stint.PerSecond(1000).Adaptive(5)
	if err := l.Wait(t.Context(), key, limit); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Report(t.Context(), key, stint.Report{Bad: 1, Pause: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context(), key, limit); err != nil {
		t.Error(err)
	}
	if pace, _, err := l.Report(t.Context(), key, stint.Report{}); err != nil || pace.Pause > 0 {
		t.Errorf("Wait ended in the pause: %+v, %v", pace, err)
	}
}

// Mistakes are errors before anything is sent: nothing listens at the address.
func TestSharedMistakes(t *testing.T) {
	l := stint.Connect([]string{"127.0.0.1:1"}, stint.FailOpen())
	defer l.Close()
	bucket := stint.PerSecond(10)
	allow := func(limit stint.Limit) error {
		_, err := l.Allow(t.Context(), "k", limit)
		return err
	}
	class := func(change func(*stint.Class)) error {
		c := stint.Class{Key: "c", Assured: bucket, Ceiling: bucket, Under: []stint.Keyed{stint.On("root", bucket)}}
		change(&c)
		_, err := l.AllowClass(t.Context(), c)
		return err
	}
	report := func(r stint.Report) error {
		_, _, err := l.Report(t.Context(), "k", r)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"weight 0":        {allow(bucket.Member("a", 0)), "the weight must be between 1 and 1000, got 0"},
		"weight below 0":  {allow(bucket.Member("a", -7)), "got -7"},
		"weight too high": {allow(bucket.Member("a", 1001)), "got 1001"},
		"no member":       {allow(bucket.Member("", 1)), "the member needs a name"},
		"no rate":         {allow(stint.Per(1, 0).Member("a", 1)), "FS.ACQUIRE: the period"},
		"min above max":   {allow(bucket.Adaptive(11)), "above 0 and at most the highest, 10, got 11"},
		"min 0":           {allow(bucket.Adaptive(0)), "got 0"},
		"a member forced": {func() error { _, err := l.Force(t.Context(), "k", bucket.Member("a", 1), 1); return err }(), "FS.ACQUIRE has no option FORCE"},
		"a tree too deep": {class(func(c *stint.Class) { c.Under = make([]stint.Keyed, 4) }), "1 to 3 ancestors, got 4"},
		"no ancestor":     {class(func(c *stint.Class) { c.Under = nil }), "got 0"},
		"a circle":        {class(func(c *stint.Class) { c.Under = append(c.Under, stint.On("c", bucket)) }), `"c" is named twice`},
		"an odd ceiling":  {class(func(c *stint.Class) { c.Ceiling = stint.Window(1, stint.Day) }), "the ceiling must be a token bucket"},
		"an odd parent":   {class(func(c *stint.Class) { c.Under[0].Limit = stint.Per(1, 0) }), `ancestor "root"`},
		"a kept ancestor": {class(func(c *stint.Class) { c.Under[0] = c.Under[0].Keep(stint.KeepTokens(1)) }), "no Cost and no Keep"},
		"good below 0":    {report(stint.Report{Good: -1}), "good calls"},
		"bad beyond":      {report(stint.Report{Bad: stint.MaxReported + 1}), "bad calls"},
		"odd Every":       {report(stint.Report{Every: time.Microsecond}), "Every must be"},
		"down to all":     {report(stint.Report{Down: 100}), "below 100 percent, got 100"},
		"up below 0":      {report(stint.Report{Up: -5}), "got -5"},
		"pause below 0":   {report(stint.Report{Pause: -1}), "Pause must not"},
	} {
		if !errors.Is(c.err, stint.ErrInvalid) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, c.err, c.says)
		}
	}
}

// TestLocalShareOfAPool: while Stint is down, all members together get the process's share of the pool.
func TestLocalShareOfAPool(t *testing.T) {
	l := stint.Connect([]string{"127.0.0.1:1"}, stint.LocalShare(0.5))
	defer l.Close()
	granted, pool := int64(0), stint.PerDay(1).Burst(10)
	for i := range 20 {
		r, _ := l.Allow(t.Context(), "pool", pool.Member(fmt.Sprint("m", i), int64(i+1)))
		granted += r.Granted
	}
	if granted != 5 {
		t.Errorf("granted %d, want half of 10", granted)
	}
}

func ExampleLimit_Member() {
	limiter := exampleLimiter()
	defer limiter.Close()
	quota := stint.PerHour(900).Burst(90)
	acme, err := limiter.AllowN(context.Background(), "example:quota", quota.Member("acme", 3), 60)
	if err != nil {
		log.Fatal(err)
	}
	free, err := limiter.AllowN(context.Background(), "example:quota", quota.Member("free:7", 1), 60)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(acme.Granted, free.Granted, free.Remaining > 20)
	// Output: 60 0 true
}

func ExampleLimiter_AllowClass() {
	limiter := exampleLimiter()
	defer limiter.Close()
	team := stint.Class{
		Key: "example:team:search", Assured: stint.PerSecond(10), Ceiling: stint.PerSecond(50),
		Under: []stint.Keyed{stint.On("example:plan:pro", stint.PerSecond(80)), stint.On("example:all", stint.PerSecond(100))},
	}
	result, err := limiter.AllowClass(context.Background(), team)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Allowed, result.Limit)
	// Output: true 50
}

func ExampleLimiter_Report() {
	limiter := exampleLimiter()
	defer limiter.Close()
	limit := stint.PerSecond(100).Burst(50).Adaptive(5) // between 5 and 100 a second
	if err := limiter.Wait(context.Background(), "example:backend", limit); err != nil {
		log.Fatal(err)
	}
	// The backend answered 429 with Retry-After: 30. All processes stop.
	pace, _, err := limiter.Report(context.Background(), "example:backend", stint.Report{Bad: 1, Pause: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pace.Pause.Round(time.Second))
	// Output: 30s
}
