package stint

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Concurrency is a limit of n holders at a time (CC.ACQUIRE), such as jobs that run at once. The place of a holder ends
// with [Place.Close] or [Limiter.Release], or after ttl, unless the same holder asks again. Names of holders must
// differ; a UUID will do.
func Concurrency(n int64, ttl time.Duration, holder string) Limit {
	return Limit{algorithm: concurrency, tokens: n, count: n, period: ttl, member: holder}
}

// usualPriority is that of a request without [Priority].
const usualPriority = 5

// Priority is the place of a limiter's requests in the line for a place of a [Concurrency] limit: 0 to 9, the most
// urgent. The default is 5. With [Limiter.With], urgent work has a limiter on the same connections. It panics outside
// these bounds.
func Priority(priority int) Option {
	if priority < 0 || priority > 9 {
		panic("stint.Priority: must be from 0 to 9, got " + strconv.Itoa(priority))
	}
	return func(s *settings) { s.priority = priority }
}

// A Place of a concurrency limit is held until Close.
type Place struct {
	Result
	limiter     *Limiter
	key, holder string
}

// Place waits in the server's line for a place of a [Concurrency] limit until ctx is over, and takes it. Its errors are
// those of [Limiter.WaitN]. Work that takes longer than the limit's ttl calls Allow with the same limit in time, which
// renews the place.
func (l *Limiter) Place(ctx context.Context, key string, limit Limit) (*Place, error) {
	if limit.algorithm != concurrency {
		return nil, fmt.Errorf("%w: only limits of Concurrency have places, not %v", ErrInvalid, limit)
	}
	result, err := l.wait(ctx, key, limit, 1)
	if err != nil {
		return nil, err
	}
	return &Place{result, l, key, limit.member}, nil
}

// Close gives the place to others. After an error, the place ends with its ttl.
func (p *Place) Close() error {
	_, err := p.limiter.Release(context.Background(), p.key, p.holder)
	return err
}

// Release ends the place of a holder, and reports whether it had one.
func (l *Limiter) Release(ctx context.Context, key, holder string) (had bool, err error) {
	reply, err := l.askUntilAnswered(ctx, []any{"CC.RELEASE", string(shortKey(key)), holder})
	return reply == int64(1), err
}

const (
	rejoinAfter = 100 * time.Millisecond // the pause before a caller joins the line again
	patientFor  = 5 * time.Second        // while another node may become the leader
)

// waitForPlace takes a place, or waits for one on the server until ctx is over. After a failure it joins the line again.
// With clients that name no node for a key, it returns the denial.
func (l *Limiter) waitForPlace(ctx context.Context, key string, limit Limit, longest time.Duration) (Result, error) {
	var patientUntil time.Time
	until := time.Now().Add(longest)
	for {
		result, err := l.Allow(ctx, key, limit)
		switch isPatient := time.Now().Before(patientUntil); {
		case err != nil && ctx.Err() != nil:
			_, _ = l.Release(context.WithoutCancel(ctx), key, limit.member) // the reply may have been under way
			return result, err
		case err != nil, result.Source == Server && result.Allowed, result.Source != Server && !isPatient:
			return result, err
		case result.Source == Server:
			node := l.node(ctx, string(shortKey(key)))
			if node == nil {
				return result, nil
			}
			result, err = l.hold(ctx, node, key, limit, max(time.Millisecond, time.Until(until)))
			if err == nil && !result.Allowed {
				return result, ErrWouldExceedDeadline
			}
			if err == nil || !passing(err) {
				return result, err
			}
			patientUntil = time.Now().Add(patientFor)
		}
		if err := sleep(ctx, rejoinAfter); err != nil {
			return result, err
		}
	}
}

// hold asks for a place with BLOCK, on a connection of its own: it ends with ctx, and then the caller leaves the line.
func (l *Limiter) hold(ctx context.Context, node *redis.Client, key string, limit Limit, longest time.Duration) (Result, error) {
	options := *node.Options()
	options.ReadTimeout, options.ContextTimeoutEnabled = -1, true
	options.MaxRetries, options.PoolSize, options.MinIdleConns = -1, 1, 0
	client := redis.NewClient(&options)
	defer client.Close()
	over, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(over, func() { client.Close() })()
	defer context.AfterFunc(l.ended, end)()

	arguments := limit.appendArguments([]any{words[limit.algorithm].command, string(shortKey(key))})
	arguments = append(limit.appendOptions(arguments), "BLOCK", milliseconds(longest.Truncate(time.Millisecond)))
	if l.priority != usualPriority {
		arguments = append(arguments, "PRIORITY", l.priority)
	}
	begun := time.Now()
	command := once{redis.NewCmd(over, arguments...)}
	err := client.Process(over, command)
	var result Result
	switch {
	case ctx.Err() != nil:
		_, _ = l.Release(context.WithoutCancel(ctx), key, limit.member) // the reply may have been under way
		err = ctx.Err()
	case l.ended.Err() != nil:
		err = ErrClosed
	case err != nil:
		err, _ = classify(err)
	default:
		result, err = limit.parseResult(command.Val(), 1)
	}
	l.tell(ctx, Decision{Operation: "Place", Key: string(shortKey(key)), Tokens: 1, Allowed: result.Allowed, Source: result.Source, Duration: time.Since(begun)}, err, nil)
	return result, err
}

// node is the client for the node that is asked for a key; nil if it is not known.
func (u universal) node(ctx context.Context, key string) *redis.Client {
	switch client := u.client.(type) {
	case *redis.Client:
		return client
	case *redis.ClusterClient:
		node, err := client.MasterForKey(ctx, key)
		if err == nil {
			return node
		}
	}
	return nil
}

func (n *nodes) node(_ context.Context, key string) *redis.Client {
	if leader := n.leader(key); leader != nil {
		return leader
	}
	return n.pick()
}
