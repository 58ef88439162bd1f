//go:build linux && !goroutines

package netio

import (
	"runtime"
	"testing"
)

// A loop that may keep its processor does so while events come, and announces its waits once there are none for a
// while.
func TestLoopRests(t *testing.T) {
	w := wakeful{allowed: true}
	for _, byEvent := range []bool{true, false, true, false} {
		if !w.isAwake() {
			t.Fatalf("it rests although events come: %+v", w)
		}
		w.ended(byEvent)
	}
	if w.ended(false); w.isAwake() {
		t.Fatalf("awake after %d waits without an event", quietWaits)
	}
	for range restingWaits {
		if w.isAwake() {
			t.Fatalf("awake too early: %+v", w)
		}
		w.ended(true)
	}
	if !w.isAwake() {
		t.Errorf("it rests for longer than %d waits: %+v", restingWaits, w)
	}
	if not := (wakeful{}); not.isAwake() {
		t.Error("awake without leave")
	}
}

// The garbage collector stops a loop that keeps its processor while it waits.
func TestCollectorInterruptsWait(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	loop, err := startEventLoop(nil, &LoopLag{}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer loop.stop()
	_, client, _ := loop.(*epollLoop).connect(t, echo)
	for range 20 {
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		expect(t, client, "hello")
		runtime.GC() // returns only when the loop has been stopped
	}
}
