package peers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Groups that want a node's status at the same time share one request, which begins after they asked. Nodes do not wait
// for each other.
func TestStatusIsFetchedOnceForAllGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		f := newFetches(func(_ context.Context, address string) (nodeStatus, error) {
			mu.Lock()
			asked[address]++
			mu.Unlock()
			if address == "slow" {
				time.Sleep(time.Second)
			}
			return nodeStatus{asked: time.Now()}, nil
		})
		go f.fetch(t.Context(), "slow")
		synctest.Wait()
		began := time.Now()
		for range 8 {
			go func() {
				if r, err := f.fetch(t.Context(), "slow"); err != nil || r.asked.Before(began.Add(time.Second)) {
					t.Errorf("the status is from %v after the call: %v", r.asked.Sub(began), err)
				}
			}()
		}
		if _, err := f.fetch(t.Context(), "quick"); err != nil || time.Since(began) > 0 {
			t.Errorf("another node was asked after %v: %v", time.Since(began), err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if asked["slow"] != 2 || asked["quick"] != 1 {
			t.Errorf("requests: %v", asked)
		}
		if len(f.next)+len(f.busy) > 0 {
			t.Errorf("not forgotten: %v %v", f.next, f.busy)
		}
	})
}

// A caller that gives up leaves the request to the others.
func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetches(func(context.Context, string) (nodeStatus, error) {
			time.Sleep(time.Second)
			return nodeStatus{}, nil
		})
		go func() {
			if _, err := f.fetch(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := f.fetch(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		time.Sleep(3 * time.Second)
	})
}
