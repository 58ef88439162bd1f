package httppace_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
	"github.com/stintdb/stint/clients/go/stinttest"
)

// TestUnusedTurnIsGivenBack: of a request whose caller left while it waited.
func TestUnusedTurnIsGivenBack(t *testing.T) {
	for name, limit := range map[string]stint.Limit{"queue": stint.PerMinute(6).Queue(5), "bucket": stint.PerMinute(6).Burst(1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := stinttest.NewFake()
				limiter := fake.Connect(stint.FailClosed())
				defer limiter.Close()
				p := newProvider(func(int, *http.Request) (int, string, error) { return 200, "", nil })
				transport := &httppace.Transport{Base: p, Limiter: limiter, Limit: limit}
				taken := func() int64 {
					u, _, err := limiter.Usage(t.Context(), "http:a")
					if err != nil {
						t.Fatal(err)
					}
					return u.Used
				}
				if _, err := get(t, transport, "GET", "http://a/", ""); err != nil {
					t.Fatal(err)
				}
				before := taken()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error)
				go func() {
					r, _ := http.NewRequestWithContext(ctx, "GET", "http://a/", nil)
					_, err := transport.RoundTrip(r)
					result <- err
				}()
				synctest.Wait()
				if waiting := taken(); waiting != before+1 {
					t.Fatalf("%d taken, and %d while the second waits", before, waiting)
				}
				cancel()
				if err := <-result; !errors.Is(err, context.Canceled) || len(p.came) != 1 {
					t.Errorf("the second: %v; %d were sent", err, len(p.came))
				}
				if after := taken(); after != before {
					t.Errorf("%d taken, and %d after the second has left", before, after)
				}
			})
		})
	}
}
