//go:build e2e

package realtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A limited key is asked for by clients of a cluster whose nodes hold tokens. capacity is the largest.
type limitedKey struct {
	words    []string // command, key, capacity, and rate or window
	capacity int64
	rate     float64       // tokens a second
	window   time.Duration // of a window, else 0
}

func newLimitedKey(command, key string, capacity, rate int64) *limitedKey {
	return &limitedKey{words: []string{command, key, strconv.FormatInt(capacity, 10), fmt.Sprintf("%d/s", rate)}, capacity: capacity, rate: float64(rate)}
}

func newWindowedKey(key string, capacity int64, window time.Duration) *limitedKey {
	return &limitedKey{words: []string{"FW.ACQUIRE", key, strconv.FormatInt(capacity, 10), window.String()}, capacity: capacity, window: window}
}

func (k *limitedKey) isHot() bool { return strings.HasPrefix(k.words[1], "hot") }

// most is the number of tokens that one exact limiter grants at most in a span of time.
func (k *limitedKey) most(span time.Duration) float64 {
	if k.window > 0 {
		return float64(k.capacity) * float64(1+(span+k.window-1)/k.window)
	}
	return float64(k.capacity) + k.rate*1.0005*span.Seconds() + 1
}

// check looks for a span of time in which more was granted, and not given back, than one exact limiter grants. A grant counts if it was
// certainly decided in the span, and a refund if it may have been.
func (l *heldLoad) check(t *testing.T) {
	t.Helper()
	const step, slot = int64(200 * time.Millisecond), int64(20 * time.Millisecond)
	for key, grants := range l.ledger {
		worst, total := 0.0, int64(0)
		for _, g := range grants {
			total += g.tokens
		}
		for from := int64(0); from < l.now(); from += step {
			slots := make([]int64, (l.now()-from)/slot+1)
			for _, g := range grants {
				switch {
				case g.tokens > 0 && g.called >= from:
					slots[(g.replied-from)/slot] += g.tokens
				case g.tokens < 0 && g.replied >= from:
					slots[max(0, g.called-from)/slot] += g.tokens
				}
			}
			sum := int64(0)
			for i, n := range slots {
				sum += n
				span := time.Duration(int64(i+1)*slot) + clockSlack
				worst = max(worst, float64(sum)/key.most(span))
				if float64(sum) > key.most(span) {
					t.Errorf("%s: %d tokens granted in the %v from %v on, %.0f at most", key.words[1], sum, span, time.Duration(from), key.most(span))
					return
				}
			}
		}
		t.Logf("%s: %d tokens granted, and in no span of time more than its limit allows (%.0f%% of that at most)", key.words[1], total, 100*worst)
	}
}

// heldLeast is how many grants of the key under its limit have to be local. Their share depends on what else the machine does.
const heldLeast = 2000

// locally is how many grants of the key under its limit were decided from memory at least.
func (l *heldLoad) locally() int64 { return l.local.Load() - l.otherLocal.Load() }

// sawAll reports whether there was everything that a test of tokens held must have seen.
func (l *heldLoad) sawAll() bool {
	return l.locally() >= heldLeast && l.byAllowance.Load() > 0 && l.voided.Load() > 0 && l.lentRefund.Load() > 0 && l.limitChanges.Load() > 2 && l.denials[0].Load() > 0 && l.denials[1].Load() > 0
}

// checkTested fails if nodes decided too little from memory to show anything.
func (l *heldLoad) checkTested(t *testing.T) {
	t.Helper()
	grants, local := l.underGrants.Load(), l.locally()
	t.Logf("%d of %d grants of the key under its limit were local at least; %d decisions in the leader's allowance, %d tokens voided, %d refunds on lent keys, %d changes of a limit, %d and %d denials",
		local, grants, l.byAllowance.Load(), l.voided.Load(), l.lentRefund.Load(), l.limitChanges.Load(), l.denials[0].Load(), l.denials[1].Load())
	if !l.sawAll() {
		t.Error("that is too little to show anything")
	}
}
