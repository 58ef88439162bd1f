package stint_test

import (
	"testing"
	"testing/synctest"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/stinttest"
)

// TestBackWithinHalfASecond: after short and long outages, with the default breaker, in the bubble's time. The long one
// has more failures to dial than go-redis's pool has connections.
func TestBackWithinHalfASecond(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, time.Minute, time.Hour, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			fake := stinttest.NewFake()
			l := fake.Connect(stint.FailClosed())
			defer l.Close()
			if r := allow(t, l); r.Source != stint.Server {
				t.Fatalf("at first: %+v", r)
			}
			fake.SetDown(true)
			for !l.Open() {
				allow(t, l)
				time.Sleep(time.Millisecond)
			}
			time.Sleep(outage)
			if r := allow(t, l); r.Source != stint.Fallback {
				t.Errorf("after %v without the server: %+v", outage, r)
			}
			fake.SetDown(false)
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			if r := allow(t, l); r.Source != stint.Server {
				t.Errorf("half a second after an outage of %v: %+v", outage, r)
			}
		})
	}
}
