// Package testwake shows that waiting goroutines are woken, and do not poll.
package testwake

import (
	"testing"
	"testing/synctest"
	"time"
)

// IsWoken reports whether wait returns once change has happened, without any time passing. It is a failure of the test
// if wait returns before that. It must be called in a synctest bubble.
func IsWoken(t *testing.T, wait func(), change func()) bool {
	t.Helper()
	returned := make(chan struct{})
	go func() { defer close(returned); wait() }()
	synctest.Wait()
	select {
	case <-returned:
		t.Error("it does not wait")
	default:
	}
	began := time.Now()
	change()
	<-returned
	return time.Since(began) == 0
}
