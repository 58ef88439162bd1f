package stint_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// TestWaitInQueue: a place that is too far back is given back at once, and a full queue is a denial.
func TestWaitInQueue(t *testing.T) {
	l := connect(t)
	limit := stint.PerHour(1).Queue(2)
	if err := l.Wait(t.Context(), t.Name(), limit); err != nil {
		t.Fatal(err)
	}
	near, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for range 5 { // each would be an hour back
		if err := l.Wait(near, t.Name(), limit); !errors.Is(err, stint.ErrWouldExceedDeadline) {
			t.Errorf("with too little time: %v", err)
		}
	}
	for i := range 2 {
		r, err := l.Reserve(t.Context(), t.Name(), limit, 1, 3*time.Hour)
		if err != nil || !r.Allowed || r.Delay().Round(time.Hour) != time.Duration(i+1)*time.Hour {
			t.Errorf("place %d: %+v, %v", i, r.Result, err)
		}
	}
	if err := l.Wait(t.Context(), t.Name(), limit); !errors.Is(err, stint.ErrDenied) {
		t.Errorf("the queue is full: %v", err)
	}
}

// TestWaitIsCancelled: who gives up while waiting gives the token back.
func TestWaitIsCancelled(t *testing.T) {
	var reserved atomic.Int64
	l := connect(t, stint.WithHooks(stint.Hooks{Decision: func(_ context.Context, d stint.Decision) {
		if d.Operation == "Reserve" {
			reserved.Add(1)
		}
	}}))
	limit := stint.PerHour(1)
	if err := l.Wait(t.Context(), t.Name(), limit); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- l.Wait(ctx, t.Name(), limit) }()
	waitFor(t, "it waits", func() bool { return reserved.Load() == 2 })
	if r, err := l.Peek(t.Context(), t.Name(), limit, 1); err != nil || r.RetryAfter < time.Hour {
		t.Errorf("meanwhile: %+v, %v", r, err)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if r, err := l.Peek(t.Context(), t.Name(), limit, 1); err != nil || r.RetryAfter > time.Hour {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}

// TestWaitForWindow asks again when the window is over.
func TestWaitForWindow(t *testing.T) {
	l := connect(t)
	limit := stint.Window(1, stint.Starting(50*time.Millisecond))
	for range 3 {
		if err := l.Wait(t.Context(), t.Name(), limit); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Reserve(t.Context(), t.Name(), limit, 1, time.Hour); !errors.Is(err, stint.ErrInvalid) {
		t.Errorf("Reserve in a window: %v", err)
	}
}

// TestWaitWithoutStint: the fallback decides.
func TestWaitWithoutStint(t *testing.T) {
	nowhere := servertest.Reserved(t)
	for policy, want := range map[stint.Policy]error{stint.FailOpen(): nil, stint.FailClosed(): stint.ErrDenied, stint.LocalShare(1): nil} {
		l := stint.Connect([]string{nowhere}, policy)
		for range 3 { // of LocalShare, the second and the third have to wait
			err := l.Wait(t.Context(), "k", stint.Per(1, 20*time.Millisecond))
			if !errors.Is(err, want) || (want != nil && !errors.Is(err, stint.ErrUnavailable)) {
				t.Errorf("%v: %v", policy, err)
			}
		}
		l.Close()
	}
}
