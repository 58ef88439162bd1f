package stint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Errors of the first group are the [Result].Cause of an answer that the [Policy] gave, and errors.Is finds
// ErrUnavailable in each of them. Those of the second group are returned as err, with the fallback's decision; those of
// the third are returned as err, with a denial.
var (
	// ErrUnavailable: Stint did not decide. Connections that fail, and replies such as CLUSTERDOWN, LOADING, MISCONF
	// and OOM, have no error that is more specific.
	ErrUnavailable = errors.New("stint: not available")
	// ErrTimeout: no reply within the Timeout. Unless it is also ErrNotSent, the tokens may have been taken.
	ErrTimeout = errors.New("stint: no reply in time")
	// ErrNotSent: the request was given up before it was sent. Nothing was taken.
	ErrNotSent = errors.New("stint: not sent")
	// ErrUncertain: a cluster lost its leader while it decided, so it is not known whether the tokens were taken. They
	// count as spent.
	ErrUncertain = errors.New("stint: the outcome is not known")
	// ErrCircuitOpen: Stint failed several times in a row and gets no requests until it works again. Nothing was sent.
	ErrCircuitOpen = errors.New("stint: circuit open")
	// ErrOverloaded: too many requests wait to be sent. Nothing was sent.
	ErrOverloaded = errors.New("stint: too many requests are waiting")

	// ErrUnauthenticated: the server takes no requests from this connection: NOAUTH, WRONGPASS, DENIED (protected
	// mode), or too many failed logins from this address.
	ErrUnauthenticated = errors.New("stint: unauthenticated")
	// ErrClosed: the limiter was closed.
	ErrClosed = errors.New("stint: closed")

	// ErrInvalid: a limit or an argument that cannot be sent. For mistakes that the server finds, err has the server's
	// text.
	ErrInvalid = errors.New("stint: invalid")
	// ErrWouldExceedDeadline: Wait would have to wait longer than ctx allows. Nothing was taken.
	ErrWouldExceedDeadline = errors.New("stint: would have to wait longer than the deadline allows")
	// ErrDenied: Wait was denied and waiting would not help: more tokens than the limit can ever grant, a full queue,
	// or a policy that denies while Stint is not available.
	ErrDenied = errors.New("stint: denied")
)

var (
	errTimeoutSent    = fmt.Errorf("%w: %w; the tokens may have been taken", ErrUnavailable, ErrTimeout)
	errTimeoutNotSent = fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrTimeout, ErrNotSent)
	errCircuitOpen    = fmt.Errorf("%w: %w", ErrUnavailable, ErrCircuitOpen)
	errOverloaded     = fmt.Errorf("%w: %w", ErrUnavailable, ErrOverloaded)
)

// The class of an error reply decides the answer to the request.
type class uint8

const (
	refused         class = iota // this request is refused as it stands: a denial, and err
	busyNode                     // this node cannot decide at present, another may: the policy
	busyServer                   // no node can: the policy
	outcomeUnknown               // decided perhaps: the policy
	unauthenticated              // the connection is not let in: the policy, and err
)

// classes are the prefixes of error replies of a server that cannot decide. They do not depend on the request. All
// other error replies do, and deny it: a reply that is not known here must not open a limit.
var classes = []struct {
	prefix string
	class  class
}{
	{"CLUSTERDOWN ", busyNode},
	{"UPSTREAM ", busyNode},
	{"LOADING ", busyNode},
	{"TRYAGAIN ", busyNode},
	{"MASTERDOWN ", busyNode},
	{"READONLY ", busyNode},
	{"NOREPLICAS ", busyNode},
	{"MISCONF ", busyNode},
	{"NOTKEPT ", busyNode},
	{"BUSY ", busyNode},
	{"MOVED ", busyNode},
	{"ASK ", busyNode},
	{"ERR max number of clients", busyNode},
	{"OOM ", busyServer},     // the keys are those of all nodes
	{"LIMITED ", busyServer}, // the user's max-rate, which repeated attempts would only use up
	{"UNCERTAIN ", outcomeUnknown},
	{"NOAUTH ", unauthenticated},
	{"WRONGPASS ", unauthenticated},
	{"DENIED ", unauthenticated},
	{"ERR AUTH ", unauthenticated},
	{"ERR too many failed logins", unauthenticated},
}

func classOf(reply string) class {
	for _, c := range classes {
		if strings.HasPrefix(reply, c.prefix) {
			return c.class
		}
	}
	return refused
}

// classify turns an error of go-redis into the caller's error, and reports whether the connection or the server failed
// to answer: the circuit breaker counts these failures. An error reply that came in time is not one.
func classify(err error) (told error, silent bool) {
	if err == nil {
		return nil, false
	}
	if errors.Is(err, ErrUnavailable) {
		return err, errors.Is(err, ErrTimeout)
	}
	if isContextError(err) {
		return fmt.Errorf("%w: %w", errTimeoutSent, err), true
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err), true
	}
	text := reply.Error()
	switch classOf(text) {
	case busyNode, busyServer:
		return fmt.Errorf("%w: %w", ErrUnavailable, err), false
	case outcomeUnknown:
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrUncertain, err), false
	case unauthenticated:
		return fmt.Errorf("%w: %w", ErrUnauthenticated, err), false
	}
	if strings.HasPrefix(text, "ERR unknown command") {
		return fmt.Errorf("stint: is this a Stint server? %w", err), false
	}
	return fmt.Errorf("stint: %w", err), false
}

// undecided reports that the error concerns Stint or the connection and not the request: the fallback decides.
func undecided(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrClosed)
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
