package stint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// line is a server whose clients wait for places.
type line struct {
	t      *testing.T
	admin  *redis.Client
	server *servertest.Server
}

func newLine(t *testing.T) line {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	admin := redis.NewClient(&redis.Options{Addr: server.Address})
	t.Cleanup(func() { admin.Close() })
	return line{t, admin, server}
}

func (l line) connect(options ...stint.Option) *stint.Limiter {
	limiter := stint.Connect([]string{l.server.Address}, stint.FailClosed(), append(options, stint.Timeout(30*time.Second))...)
	l.t.Cleanup(func() { limiter.Close() })
	return limiter
}

// hasWaiting waits until so many clients are in the line.
func (l line) hasWaiting(n int) {
	l.t.Helper()
	waitFor(l.t, fmt.Sprint(n, " wait"), func() bool {
		return strings.Contains(l.admin.Info(l.t.Context(), "clients").Val(), fmt.Sprintf("blocked_clients:%d\r\n", n))
	})
}

func oneAtATime(holder string) stint.Limit { return stint.Concurrency(1, time.Hour, holder) }

// take takes a place that is free.
func (l line) take(limiter *stint.Limiter, key, holder string) *stint.Place {
	l.t.Helper()
	place, err := limiter.Place(l.t.Context(), key, oneAtATime(holder))
	if err != nil || !place.Allowed {
		l.t.Fatal(place, err)
	}
	return place
}

// TestCloseWakesTheMostUrgent: through a client of the limiter's own, and through the application's.
func TestCloseWakesTheMostUrgent(t *testing.T) {
	l := newLine(t)
	application := redis.NewClient(&redis.Options{Addr: l.server.Address, ReadTimeout: time.Second})
	t.Cleanup(func() { application.Close() })
	for name, limiter := range map[string]*stint.Limiter{
		"connected": l.connect(), "given": stint.New(application, stint.FailClosed(), stint.Timeout(30*time.Second)),
	} {
		first := l.take(limiter, name, "first")
		got := make(chan string)
		var all sync.WaitGroup
		for i, priority := range []int{1, 5, 9} {
			all.Go(func() {
				holder := fmt.Sprint(priority)
				place, err := limiter.With(stint.Priority(priority)).Place(t.Context(), name, oneAtATime(holder))
				if err != nil {
					holder = err.Error()
				}
				got <- holder
				if err == nil {
					err = place.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
			l.hasWaiting(i + 1)
		}
		if r, err := limiter.Allow(t.Context(), name+" another", stint.PerSecond(1)); err != nil || r.Source != stint.Server {
			t.Errorf("meanwhile: %+v, %v", r, err)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if order := []string{<-got, <-got, <-got}; !slices.Equal(order, []string{"9", "5", "1"}) {
			t.Errorf("%s: the order is %v", name, order)
		}
		all.Wait()
	}
}

// TestPlaceOfNobody: a caller that leaves the line, by its context or a closed limiter, is given no place.
func TestPlaceOfNobody(t *testing.T) {
	l := newLine(t)
	limiter, closed := l.connect(), l.connect()
	first := l.take(limiter, "k", "first")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() { _, err := limiter.Place(ctx, "k", oneAtATime("left")); failed <- err }()
	l.hasWaiting(1)
	go func() { failed <- closed.Wait(t.Context(), "k", oneAtATime("closed")) }()
	l.hasWaiting(2)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	l.hasWaiting(1)
	closed.Close()
	if err := <-failed; !errors.Is(err, stint.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	l.hasWaiting(0)
	l.take(limiter, "k", "first") // which renews it
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	l.take(limiter, "k", "next")
	for _, holder := range []string{"left", "closed", "first"} {
		if had, err := limiter.Release(t.Context(), "k", holder); had || err != nil {
			t.Errorf("%s: %v, %v", holder, had, err)
		}
	}
}

// TestBrokenConnectionEndsNoWait: the caller joins the line again.
func TestBrokenConnectionEndsNoWait(t *testing.T) {
	l := newLine(t)
	limiter := l.connect()
	first := l.take(limiter, "k", "first")
	failed := make(chan error)
	go func() { _, err := limiter.Place(t.Context(), "k", oneAtATime("next")); failed <- err }()
	l.hasWaiting(1)
	if err := l.admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the place is released", func() bool {
		had, err := limiter.Release(t.Context(), "k", "first")
		return err == nil && had
	})
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil { // it has ended already
		t.Error(err)
	}
}

// TestEndOfTheLine: the server replies with a denial when the time of BLOCK is over.
func TestEndOfTheLine(t *testing.T) {
	var last []string
	server, err := servertest.NewScripted(func(words []string) string {
		last = words
		return "*5\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000"
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second), stint.Priority(0))
	defer limiter.Close()
	if _, err := limiter.Place(t.Context(), "k", oneAtATime("me")); !errors.Is(err, stint.ErrWouldExceedDeadline) {
		t.Error(err)
	}
	if words := strings.Join(last, " "); !strings.HasPrefix(words, "CC.ACQUIRE k 1 3600000ms me BLOCK 3153") || !strings.HasSuffix(words, "ms PRIORITY 0") {
		t.Error(words)
	}
}

func TestPlaceWithoutServer(t *testing.T) {
	nowhere := []string{"127.0.0.1:1"}
	closed, open := stint.Connect(nowhere, stint.FailClosed()), stint.Connect(nowhere, stint.FailOpen())
	defer closed.Close()
	defer open.Close()
	if place, err := closed.Place(t.Context(), "k", oneAtATime("me")); place != nil || !errors.Is(err, stint.ErrDenied) {
		t.Errorf("%+v, %v", place, err)
	}
	place, err := open.Place(t.Context(), "k", oneAtATime("me"))
	if err != nil || !place.Allowed || place.Source != stint.Fallback {
		t.Fatalf("%+v, %v", place, err)
	}
	if err := place.Close(); !errors.Is(err, stint.ErrUnavailable) {
		t.Error(err)
	}
	share := open.With(stint.WhenDown(stint.LocalShare(0.5)))
	granted := int64(0)
	for i := range 20 {
		r, _ := share.Allow(t.Context(), "k", stint.Concurrency(10, 24*time.Hour, fmt.Sprint(i)))
		granted += r.Granted
	}
	if granted != 5 {
		t.Errorf("half of the places are %d", granted)
	}
	for _, limit := range []stint.Limit{stint.PerSecond(1), oneAtATime("")} {
		if _, err := open.Place(t.Context(), "k", limit); !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%v: %v", limit, err)
		}
	}
}

// waitsInLine has a caller wait at the node of a key, by the application's client. It would not ask again within an hour.
func waitsInLine(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	isDenied := make(chan struct{})
	limiter := stint.New(client, stint.FailClosed(), stint.Timeout(30*time.Second), stint.WithHooks(stint.Hooks{Decision: func(_ context.Context, d stint.Decision) {
		if d.Operation == "Allow" && !d.Allowed {
			close(isDenied)
		}
	}}))
	defer limiter.Close()
	first, err := limiter.Place(t.Context(), "place", oneAtATime("first"))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() { _, err := limiter.Place(t.Context(), "place", oneAtATime("second")); failed <- err }()
	<-isDenied
	if err := errors.Join(first.Close(), <-failed); err != nil {
		t.Error(err)
	}
}
