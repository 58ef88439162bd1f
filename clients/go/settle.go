package stint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Charge is the amount that one limit of a settled request is charged, and the limit's state. Remaining is below zero
// while the limit is in debt.
type Charge struct {
	Charged int64
	LimitState
}

// KeepCharge leaves the charge of a limit as it is, in [Limiter.SettleCosts].
const KeepCharge int64 = -1

// Settle charges the true cost of a request that was granted with a [Request].ID: tokens, in place of those of the
// request, to each limit without a cost. The rest goes back; more is taken as by [Limiter.Force]. The leases of the
// request end. Charges are in the order of the limits; nil if the server does not know the ID: nothing was taken under
// it, or [Request].Remember was over, and then the tokens of the request stay taken. The first nil of a process is
// logged.
//
// A request is settled once. The same settlement again changes nothing and is answered alike, so the limiter repeats it
// when a reply is lost, and after an error the caller may. Another settlement is an error.
func (l *Limiter) Settle(ctx context.Context, id string, tokens int64) ([]Charge, error) {
	if tokens < 0 {
		return nil, errCost(tokens)
	}
	return settle(ctx, l, id, tokens)
}

// SettleCosts is Settle with an amount for each limit of the request, in their order. [KeepCharge] leaves a limit's
// charge as it is.
func (l *Limiter) SettleCosts(ctx context.Context, id string, costs ...int64) ([]Charge, error) {
	amounts := []any{"COSTS"}
	for _, cost := range costs {
		switch {
		case cost == KeepCharge:
			amounts = append(amounts, "-")
		case cost < 0:
			return nil, errCost(cost)
		default:
			amounts = append(amounts, cost)
		}
	}
	return settle(ctx, l, id, amounts...)
}

func settle(ctx context.Context, l *Limiter, id string, amounts ...any) ([]Charge, error) {
	charges, err := charge(ctx, l, append([]any{"RL.SETTLE", string(shortKey(id))}, amounts...))
	if charges == nil && err == nil {
		warnLate(id)
	}
	return charges, err
}

func errCost(n int64) error {
	return fmt.Errorf("%w: the true cost must not be below 0, got %d", ErrInvalid, n)
}

// Cancel gives back everything that a request with this ID took, and ends its leases. It is Settle in all other
// respects.
func (l *Limiter) Cancel(ctx context.Context, id string) ([]Charge, error) {
	return charge(ctx, l, []any{"RL.CANCEL", string(shortKey(id))})
}

func charge(ctx context.Context, l *Limiter, arguments []any) ([]Charge, error) {
	reply, err := l.askUntilAnswered(ctx, arguments)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	limits, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w (%v)", errReply, reply)
	}
	charges := make([]Charge, len(limits))
	for i, limit := range limits {
		n, err := integers(limit, 4)
		if err != nil {
			return nil, err
		}
		charges[i] = Charge{n[0], LimitState{Limit: n[1], Remaining: n[2], ResetAfter: wait(n[3], time.Millisecond)}}
	}
	return charges, nil
}

// Pauses before a command is repeated: each is twice the one before.
const (
	firstPause = 2 * time.Millisecond
	maxPause   = 100 * time.Millisecond
)

// askUntilAnswered is ask for commands that may be carried out twice. They are repeated, within the timeout, after
// failures that another attempt may not meet.
func (l *Limiter) askUntilAnswered(ctx context.Context, arguments []any) (reply any, err error) {
	deadline := time.Now().Add(l.timeout)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		reply, err = l.askWithin(ctx, time.Until(deadline), arguments)
		jittered := pause/2 + rand.N(pause)
		if !passing(err) || time.Until(deadline) <= jittered {
			return reply, err
		}
		if err := sleep(ctx, jittered); err != nil {
			return nil, err
		}
	}
}

// passing reports that the connection failed, or that the node could not serve or finish the request.
func passing(err error) bool {
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCircuitOpen) || errors.Is(err, ErrOverloaded) {
		return false
	}
	var reply redis.Error
	return !errors.As(err, &reply) || classOf(reply.Error()) != busyServer
}
