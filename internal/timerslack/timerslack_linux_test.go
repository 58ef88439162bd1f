package timerslack

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A thread that has begun with a long slack sleeps as usual after Reset. Where no program began with one, Reset leaves
// what a thread has.
func TestReset(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer Set(usual)
	is := func(want time.Duration) {
		t.Helper()
		got, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil || time.Duration(got) != want {
			t.Errorf("%v (%v), want %v", time.Duration(got), err, want)
		}
	}
	Set(Long)
	Reset()
	is(Long)
	NoteLong()
	defer func() { isLong = false }()
	Reset()
	is(usual)
}
