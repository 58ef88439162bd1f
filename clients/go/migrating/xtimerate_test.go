package migrating

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/time/rate"

	stint "github.com/stintdb/stint/clients/go"
)

func rateBefore(ctx context.Context) error {
	limiter := rate.NewLimiter(rate.Every(30*time.Millisecond), 3) // for this process
	for range 5 {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
		send()
	}
	return nil
}

func rateAfter(ctx context.Context) error {
	limit := stint.Per(1, 30*time.Millisecond).Burst(3) // for all processes
	for range 5 {
		if err := limiter.Wait(ctx, "mail", limit); err != nil {
			return err
		}
		send()
	}
	return nil
}

func rateReserveBefore(limiter *rate.Limiter) time.Duration {
	r := limiter.ReserveN(time.Now(), 2)
	if !r.OK() {
		return -1 // more than the burst
	}
	return r.Delay()
}

func rateReserveAfter(ctx context.Context, limit stint.Limit) (time.Duration, error) {
	r, err := limiter.Reserve(ctx, "reports", limit, 2, time.Hour)
	if err != nil || !r.Allowed {
		return -1, err // more than will be there within an hour
	}
	return r.Delay(), nil
}

var sent int

func send() { sent++ }

// TestRatePage: the functions of the page do the same.
func TestRatePage(t *testing.T) {
	if err := errors.Join(rateBefore(t.Context()), rateAfter(t.Context())); err != nil || sent != 10 {
		t.Errorf("%d sent, %v", sent, err)
	}
	old := rate.NewLimiter(rate.Every(10*time.Minute), 3)
	limit := stint.Per(1, 10*time.Minute).Burst(3)
	for i := range 3 {
		want := rateReserveBefore(old)
		if got, err := rateReserveAfter(t.Context(), limit); err != nil || !near(got, want) {
			t.Errorf("reservation %d: %v, %v; x/time/rate: %v", i, got, err, want)
		}
	}
}

// TestRate: random requests to random limits, decided by both.
func TestRate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		count, burst := 1+random.IntN(20), 1+random.IntN(30)
		old := rate.NewLimiter(rate.Limit(float64(count)/(1000*3600)), burst)
		limit := stint.Per(int64(count), 1000*time.Hour).Burst(int64(burst))
		for range 30 {
			n := 1 + random.IntN(burst+1) // now and then more than there can be
			want := old.AllowN(time.Now(), n)
			got, err := limiter.AllowN(t.Context(), t.Name()+limit.String(), limit, int64(n))
			if err != nil || got.Allowed != want || got.Remaining != int64(max(0, old.Tokens())) || (got.RetryAfter == stint.Never) != (n > burst) {
				t.Errorf("%v, %d tokens: %+v, %v; x/time/rate: %v, %v left", limit, n, got, err, want, old.Tokens())
			}
		}
	}
}

// TestCancelWithLaterReservations: x/time/rate keeps the tokens that later reservations build on, and all come back
// here.
func TestCancelWithLaterReservations(t *testing.T) {
	old := rate.NewLimiter(rate.Every(time.Hour), 2)
	limit := stint.PerHour(1).Burst(2)
	reserve := func(n int) (*rate.Reservation, *stint.Reservation) {
		got, err := limiter.Reserve(t.Context(), t.Name(), limit, int64(n), 100*time.Hour)
		if err != nil || !got.Allowed {
			t.Fatalf("%+v, %v", got.Result, err)
		}
		return old.ReserveN(time.Now(), n), got
	}
	reserve(2)
	oldFirst, first := reserve(1)
	oldLater, later := reserve(1)
	if oldFirst.Cancel(); first.Cancel(t.Context()) != nil {
		t.Error("not cancelled")
	}
	if !near(oldLater.Delay(), 2*time.Hour) || !near(later.Delay(), 2*time.Hour) {
		t.Errorf("the later reservation: %v; x/time/rate: %v", later.Delay(), oldLater.Delay())
	}
	oldNext, next := reserve(1)
	if !near(oldNext.Delay(), 3*time.Hour) || !near(next.Delay(), 2*time.Hour) {
		t.Errorf("the next one: %v, want two hours; x/time/rate: %v, want three", next.Delay(), oldNext.Delay())
	}
}

// TestWaitAlike: Wait gives up at once when the deadline is too near, as in x/time/rate, and takes nothing.
func TestWaitAlike(t *testing.T) {
	old := rate.NewLimiter(rate.Every(time.Hour), 1)
	limit := stint.PerHour(1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for i, want := range []bool{true, false, false} {
		errOld, errNew := old.Wait(ctx), limiter.Wait(ctx, t.Name(), limit)
		if (errOld == nil) != want || (errNew == nil) != want || (!want && !errors.Is(errNew, stint.ErrWouldExceedDeadline)) {
			t.Errorf("%d: %v; x/time/rate: %v", i, errNew, errOld)
		}
	}
	if got, err := limiter.Reserve(t.Context(), t.Name(), limit, 1, 2*time.Hour); err != nil || !near(got.Delay(), time.Hour) {
		t.Errorf("what was given up was taken all the same: %v, %v", got.Delay(), err)
	} else if err := got.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := limiter.Reserve(t.Context(), t.Name(), limit, 1, 2*time.Hour); err != nil || !near(got.Delay(), time.Hour) {
		t.Errorf("what was cancelled was kept: %v, %v", got.Delay(), err)
	}
	if got, err := limiter.Reserve(t.Context(), t.Name()+"more", limit, 3, 3*time.Hour); err != nil || !got.Allowed || !near(got.Delay(), 2*time.Hour) {
		t.Errorf("more than the burst: %+v, %v", got.Result, err)
	}
	if err := limiter.WaitN(t.Context(), t.Name()+"window", stint.Window(2, stint.Month), 3); !errors.Is(err, stint.ErrDenied) {
		t.Errorf("more than there can be: %v", err)
	}
}
