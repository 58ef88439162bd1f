// Package testwait waits for conditions in tests. All waits of tests outside synctest bubbles go through it, so that
// there is one bound of waiting, which is too long to fail on a busy machine and ends a test that hangs with a clear
// message.
package testwait

import (
	"errors"
	"testing"
	"time"
)

// Limit is how long a test waits for anything. It is no promise about speed: it is only reached when a test fails.
const Limit = time.Minute

// A condition is looked at again after leastPause at first, then after twice as long each time, up to mostPause.
const (
	leastPause = 100 * time.Microsecond
	mostPause  = 10 * time.Millisecond
)

// Until waits until a condition holds, and ends the test if it does not come to hold within [Limit].
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	UntilNil(t, what, func() error {
		if !holds() {
			return errNotYet
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")

// UntilNil is Until for a condition that is met once there is no error.
func UntilNil(t testing.TB, what string, missing func() error) {
	t.Helper()
	if err := Poll(missing); err != nil {
		t.Fatalf("waited %v in vain until %s: %v", Limit, what, err)
	}
}

// Poll is UntilNil for goroutines other than the test's: it returns the last error.
func Poll(missing func() error) (err error) {
	deadline := Deadline()
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		if err = missing(); err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// Deadline is [Limit] from now, for connections: then reads and writes fail instead of hanging.
func Deadline() time.Time { return time.Now().Add(Limit) }
