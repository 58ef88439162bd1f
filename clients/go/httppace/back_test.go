package httppace_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
)

// TestUnusedTurnIsGivenBack: of a request whose caller left while it waited.
func TestUnusedTurnIsGivenBack(t *testing.T) {
	for host, limit := range map[string]stint.Limit{"queue": stint.PerHour(1).Queue(5), "bucket": stint.PerHour(1).Burst(1)} {
		t.Run(host, func(t *testing.T) {
			limiter := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
			defer limiter.Close()
			p := newProvider(func(int, *http.Request) (int, string, error) { return 200, "", nil })
			transport := &httppace.Transport{Base: p, Limiter: limiter, Limit: limit, MaxWait: 24 * time.Hour}
			taken := func() int64 {
				u, _, err := limiter.Usage(t.Context(), "http:"+host)
				if err != nil {
					t.Fatal(err)
				}
				return u.Used
			}
			if _, err := get(t, transport, "GET", "http://"+host+"/", ""); err != nil {
				t.Fatal(err)
			}
			before := taken()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error)
			go func() {
				r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+host+"/", nil)
				_, err := transport.RoundTrip(r)
				result <- err
			}()
			for deadline := time.Now().Add(30 * time.Second); taken() != before+1; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d taken, and %d while the second waits", before, taken())
				}
			}
			// The reply to the second request is under way. A caller that leaves before it arrives cannot know that a token
			// was taken.
			for range 200 {
				taken()
			}
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) || len(p.came) != 1 {
				t.Errorf("the second: %v; %d were sent", err, len(p.came))
			}
			if after := taken(); after != before {
				t.Errorf("%d taken, and %d after the second has left", before, after)
			}
		})
	}
}
