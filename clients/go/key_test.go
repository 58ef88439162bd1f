package stint_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// TestLongKeys: a key or an id of any length is limited, each on its own, though the fallback lets everything through
// without a decision.
func TestLongKeys(t *testing.T) {
	l := connect(t, stint.WhenDown(stint.FailOpen()))
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", t.Name(), "TB", t.Name()+":{}", 3, "3/d").Err(); err != nil {
		t.Fatal(err)
	}
	limit := stint.PerDay(3)
	leases := l.Lease(stint.LeaseOptions{})
	defer leases.Close(t.Context())
	for call, allow := range map[string]func(key string) (bool, error){
		"Allow": func(key string) (bool, error) { r, err := l.Allow(t.Context(), key, limit); return r.Allowed, err },
		"All": func(key string) (bool, error) {
			m, err := l.All(t.Context(), stint.On(key, limit))
			return m.Allowed, err
		},
		"Check":  func(key string) (bool, error) { m, err := l.Check(t.Context(), t.Name(), key); return m.Allowed, err },
		"Leases": func(key string) (bool, error) { r, err := leases.Allow(t.Context(), key, limit); return r.Allowed, err },
	} {
		for _, length := range []int{200, 201, 5000, 70_000} {
			for _, end := range []string{"a", "b"} {
				key, passed := strings.Repeat("x", length-len(call)-1)+call+end, 0
				for range 20 {
					allowed, err := allow(key)
					if err != nil {
						t.Fatalf("%s, %d bytes: %v", call, length, err)
					}
					if allowed {
						passed++
					}
				}
				if passed != 3 {
					t.Errorf("%s, %d bytes ending in %s: %d of 20 passed a limit of 3", call, length, end, passed)
				}
			}
		}
	}
}

// TestNameOfLongKey: the name that the documentation gives for a long key, and who meets it.
func TestNameOfLongKey(t *testing.T) {
	l := connect(t)
	key := t.Name() + strings.Repeat("/long", 100)
	name := fmt.Sprintf("%s:sha256:%x", key[:136], sha256.Sum256([]byte(key)))
	limit := stint.PerDay(10)
	if _, err := l.AllowN(t.Context(), key, limit, 4); err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	if left, err := rdb.Do(t.Context(), "RL.REFUND", name, 1).Int64(); err != nil || left != 7 {
		t.Errorf("%d left under %s, %v", left, name, err)
	}
	if r, err := l.Peek(t.Context(), name, limit, 1); err != nil || r.Remaining != 9 { // a Peek answers as if one was taken
		t.Errorf("a caller who is called as another one's key is shortened: %+v, %v", r, err)
	}
	if left, known, err := l.Refund(t.Context(), key, 2); err != nil || !known || left != 9 {
		t.Errorf("Refund: %d, %v, %v", left, known, err)
	}
	if err := l.Reset(t.Context(), key); err != nil || rdb.Exists(t.Context(), name).Val() != 0 {
		t.Errorf("Reset: %v", err)
	}
}

// TestMistakesDeny: errors that a caller's input can provoke deny the request under every policy.
func TestMistakesDeny(t *testing.T) {
	l := connect(t)
	if _, err := l.Allow(t.Context(), t.Name(), stint.Window(1, stint.Day)); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []stint.Policy{stint.FailOpen(), stint.LocalShare(1), stint.FailClosed()} {
		l := l.With(stint.WhenDown(policy), stint.AssumePolicy("no such policy", stint.PerDay(1)))
		leases := l.Lease(stint.LeaseOptions{})
		bucket := stint.PerDay(5)
		for mistake, got := range map[string]outcome{
			"another algorithm's key": result(l.Allow(t.Context(), t.Name(), bucket)),
			"the same, leased":        result(leases.Allow(t.Context(), t.Name(), bucket)),
			"the same, forced":        result(l.Force(t.Context(), t.Name(), bucket, 1)),
			"the same, one of two":    multiResult(l.All(t.Context(), stint.On(t.Name(), bucket), stint.On("other", bucket))),
			"more tokens than exist":  result(l.AllowN(t.Context(), "n", bucket, 1e12+1)),
			"fewer than one token":    result(l.AllowN(t.Context(), "n", bucket, -5)),
			"the same, leased too":    result(leases.AllowN(t.Context(), "n", bucket, -5)),
			"no token of All":         multiResult(l.AllN(t.Context(), 0, stint.On("n", bucket))),
			"negative tokens, Check":  multiResult(l.CheckN(t.Context(), "no such policy", "7", -1)),
			"no such policy":          multiResult(l.Check(t.Context(), "no such policy", "7")),
			"a limit out of range":    result(l.Allow(t.Context(), "n", stint.PerDay(1e12+1))),
			"the zero limit":          result(l.Allow(t.Context(), "n", stint.Limit{})),
		} {
			if got.allowed || got.source != stint.Fallback || got.err == nil || errors.Is(got.err, stint.ErrUnavailable) {
				t.Errorf("%v, %s: %+v", policy, mistake, got)
			}
		}
		leases.Close(t.Context())
	}
}

type outcome struct {
	allowed bool
	source  stint.Source
	err     error
}

func result(r stint.Result, err error) outcome { return outcome{r.Allowed, r.Source, err} }

func multiResult(m stint.MultiResult, err error) outcome { return outcome{m.Allowed, m.Source, err} }
