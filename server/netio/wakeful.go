//go:build linux && !goroutines

package netio

import "golang.org/x/sys/unix"

// wakeful decides how a loop waits for events. While they come often, it keeps its processor of Go's runtime, and does
// not announce its waits. The runtime takes it for a goroutine that computes: it sends a signal, which ends the wait,
// after 10 ms, or when the garbage collector needs the thread. Decision 0044 has the reasons.
type wakeful struct {
	allowed bool // the runtime has a processor for each loop beside those for everything else
	quiet   int  // waits in succession that a signal ended
	resting int  // waits to come that are announced
}

const (
	quietWaits   = 2  // after so many, at least 10 ms without an event, the loop rests
	restingWaits = 64 // a loop with few events is ended by signals less often than once for each
)

// wait returns the number of events, 0 after a signal.
func (w *wakeful) wait(epoll int, events []unix.EpollEvent) (n int) {
	if w.isAwake() {
		n = epollRaw(epoll, events, -1)
	} else {
		n, _ = unix.EpollWait(epoll, events, -1) // -1 for EINTR, the only error that is possible
	}
	w.ended(n > 0)
	return max(0, n)
}

func (w *wakeful) isAwake() bool { return w.allowed && w.resting == 0 }

// ended notes that a wait has ended, by an event or by a signal.
func (w *wakeful) ended(byEvent bool) {
	switch {
	case w.resting > 0:
		w.resting--
	case byEvent:
		w.quiet = 0
	default:
		if w.quiet++; w.quiet == quietWaits {
			w.quiet, w.resting = 0, restingWaits
		}
	}
}
