package stint_test

import (
	"errors"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// TestPenalty: the third denial of a caller begins a ban, which does not end with the wait of the other limit.
func TestPenalty(t *testing.T) {
	l, key := connect(t), t.Name()
	limits := []stint.Keyed{
		stint.On(key+":try", stint.PerHour(1)),
		stint.On(key+":ban", stint.Penalty(3, time.Minute, 10*time.Hour).Doubling(24*time.Hour)),
	}
	for i, binding := range []int{-1, 0, 0, 1, 1} {
		m, err := l.All(t.Context(), limits...)
		if err != nil || m.Source != stint.Server || m.Binding != binding || m.Allowed != (binding < 0) {
			t.Fatalf("request %d: %+v, %v, want %d to deny", i+1, m, err, binding)
		}
		if isBan := m.RetryAfter > time.Hour; isBan != (binding == 1) {
			t.Errorf("request %d: denied for %v", i+1, m.RetryAfter)
		}
	}
	if err := l.Reset(t.Context(), key+":ban"); err != nil {
		t.Fatal(err)
	}
	if m, err := l.All(t.Context(), limits...); err != nil || m.Binding != 0 {
		t.Errorf("after the ban: %+v, %v", m, err)
	}
	if err := l.Wait(t.Context(), key, limits[1].Limit); !errors.Is(err, stint.ErrInvalid) {
		t.Errorf("a penalty alone: %v", err)
	}
	if limit := stint.PerHour(1); limit.Doubling(time.Hour) != limit {
		t.Error("Doubling is for penalties")
	}
}
