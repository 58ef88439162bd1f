package clock

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Steps follow each other after their pauses. Now ends a pause, or makes one more step follow the step under way.
func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		var mu sync.Mutex
		var at []time.Duration
		began, pause, work := time.Now(), time.Second, time.Duration(0)
		task := Repeat(ctx, &ended, func(context.Context) time.Duration {
			mu.Lock()
			at = append(at, time.Since(began))
			takes, pauses := work, pause
			mu.Unlock()
			time.Sleep(takes)
			return pauses
		})
		wait := func(until time.Duration, want ...time.Duration) {
			t.Helper()
			time.Sleep(until - time.Since(began))
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(at, want) {
				t.Errorf("after %v there were steps at %v, want %v", until, at, want)
			}
			at = nil
		}
		wait(1500*time.Millisecond, 0, time.Second)
		task.Now()
		wait(1500*time.Millisecond, 1500*time.Millisecond)
		mu.Lock()
		work, pause = time.Second, Never
		mu.Unlock()
		wait(3*time.Second, 2500*time.Millisecond)
		task.Now()
		task.Now() // while a step is under way
		wait(time.Minute, 3500*time.Millisecond)
		task.Now()
		wait(time.Minute, time.Minute)
		cancel()
		ended.Wait() // for the step
		if got := time.Since(began); got != time.Minute+time.Second {
			t.Errorf("it has ended after %v", got)
		}
		task.Now()
		wait(2 * time.Minute)
	})
}

// A task that pauses has no goroutine, ends at once, and ends if it has never begun.
func TestTaskThatPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		before, began := runtime.NumGoroutine(), time.Now()
		for range 1000 {
			Repeat(ctx, &ended, func(context.Context) time.Duration { return time.Hour })
			Every(ctx, &ended, time.Hour, func(context.Context) { t.Error("it is not due") })
		}
		synctest.Wait()
		// the count is off by up to 33 for each processor, which keeps ended goroutines
		if more := runtime.NumGoroutine() - before; more > 1000 {
			t.Errorf("2000 tasks have %d goroutines", more)
		}
		cancel()
		ended.Wait()
		Every(ctx, &ended, time.Hour, func(context.Context) { t.Error("it has ended before") })
		ended.Wait()
		if time.Since(began) != 0 {
			t.Errorf("they end after %v", time.Since(began))
		}
	})
}

// Tasks with the same period have their steps at the same time, and a task that waits for long delays no other.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		var steps atomic.Int32
		time.Sleep(300 * time.Millisecond)
		Every(ctx, &ended, time.Second, func(context.Context) { time.Sleep(time.Minute) })
		for range 2 {
			Every(ctx, &ended, time.Second, func(context.Context) {
				if time.Now().Nanosecond() != 0 {
					t.Errorf("a step at %v", time.Now())
				}
				steps.Add(1)
			})
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		cancel()
		ended.Wait()
		if n := steps.Load(); n != 20 {
			t.Errorf("%d steps in ten seconds, want 20", n)
		}
	})
}
