package stint

import "fmt"

// A Policy decides instead of Stint while Stint does not answer.
type Policy struct {
	kind  policyKind
	share float64
}

type policyKind uint8

const (
	failClosed policyKind = iota
	failOpen
	localShare
)

// FailOpen allows everything while Stint does not answer. Use it for limits that serve fairness, where rejecting
// customers is worse than a few requests too many.
func FailOpen() Policy { return Policy{kind: failOpen} }

// FailClosed denies everything while Stint does not answer. Use it for limits that must never be exceeded, such as
// another company's quota.
func FailClosed() Policy { return Policy{kind: failClosed} }

// LocalShare gives this process a share of each limit, above 0 and at most 1, while Stint does not answer: eight
// processes with LocalShare(1.0/8) together keep about the limit. It panics if the share is out of range.
//
// Each key then has a bucket in memory, of the share of the limit's tokens, rounded down but at least 1, refilled at
// the share of its rate; a window's limit comes back evenly over the window's length. A bucket starts full at the first
// request for its key after Stint failed, so earlier grants are not counted. In each span without Stint, a process
// therefore lets through at most max(1, share × tokens) + share × rate × the span's length, per key. At most 100,000
// keys are kept; others are denied until there is room.
//
// [Limiter.Check] has no limits to take a share of, and is denied unless [AssumePolicy] names some.
func LocalShare(share float64) Policy {
	if !(share > 0 && share <= 1) {
		panic(fmt.Sprintf("stint.LocalShare: the share must be above 0 and at most 1, got %v", share))
	}
	return Policy{kind: localShare, share: share}
}

// String is the policy as it is written in Go, without the package's name.
func (p Policy) String() string {
	switch p.kind {
	case failOpen:
		return "FailOpen()"
	case localShare:
		return fmt.Sprintf("LocalShare(%v)", p.share)
	default:
		return "FailClosed()"
	}
}
