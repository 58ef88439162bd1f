package testwait

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A wait ends with the condition, and after the limit with an error.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		comesAfter := func(d time.Duration) func() error {
			return func() error {
				if time.Since(began) < d {
					return errors.New("not there")
				}
				return nil
			}
		}
		if err := Poll(comesAfter(Limit / 2)); err != nil || time.Since(began) > Limit/2+mostPause {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		if err := Poll(comesAfter(2 * Limit)); err == nil || time.Since(began) > Limit+mostPause {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		Until(t, "a second has passed", func() bool { return time.Since(began) >= time.Second })
	})
}
