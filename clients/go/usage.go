package stint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxHistory is the most closed windows that [Limit.History] keeps.
const MaxHistory = 36

// History returns the limit with so many closed windows kept, 1 to [MaxHistory], for [Limiter.Usage]. A request without
// it forgets them. It is for [Window]; other limits are returned as they are.
func (l Limit) History(windows int) Limit {
	if l.algorithm == fixedWindow {
		l.history = windows
	}
	return l
}

// Usage is the use of a limit. Used, Reserved, Lent and Remaining add up to Limit, unless it is in debt.
type Usage struct {
	Key       string // of the limit, from [Limiter.PolicyUsage] alone
	Limit     int64
	Used      int64
	Reserved  int64     // charged to requests with a [Request].ID that were not settled; 0 without [Limit.History], where Used has them too
	Lent      int64     // set aside for holders of leases, and not known to be used
	Remaining int64     // below zero while the limit is in debt
	Start     time.Time // of the open window; zero if the limit has none, or it begins with the next request
	End       time.Time
	History   []ClosedWindow // in which anything was used, the newest first
}

// ClosedWindow is the usage in a window that is over.
type ClosedWindow struct {
	Start, End     time.Time
	Used, Reserved int64
}

// Usage shows the use of the limit of a key. known is false for a key of which nothing was used, or that has expired.
func (l *Limiter) Usage(ctx context.Context, key string) (u Usage, known bool, err error) {
	reply, err := l.askUntilAnswered(ctx, []any{"RL.USAGE", string(shortKey(key))})
	if errors.Is(err, redis.Nil) {
		return u, false, nil
	}
	if err != nil {
		return u, false, err
	}
	u, err = parseUsage(reply)
	return u, err == nil, err
}

// PolicyUsage shows the use of each limit of a policy for a caller, also of those of which nothing was used. fields are
// those of a check.
func (l *Limiter) PolicyUsage(ctx context.Context, policy, id string, fields map[string]string) ([]Usage, error) {
	arguments := []any{"RL.POLICY", "USAGE", policy, string(shortKey(id))}
	reply, err := l.askUntilAnswered(ctx, appendFields(arguments, fields))
	if err != nil {
		return nil, err
	}
	limits, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w (%v)", errReply, reply)
	}
	usages := make([]Usage, len(limits))
	for i, limit := range limits {
		if usages[i], err = parseUsage(limit); err != nil {
			return nil, err
		}
	}
	return usages, nil
}

// fieldsOf reads a map, which before RESP3 is an array of names and values by turns.
func fieldsOf(reply any) map[any]any {
	fields := map[any]any{}
	switch r := reply.(type) {
	case map[any]any:
		return r
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			fields[r[i]] = r[i+1]
		}
	}
	return fields
}

func parseUsage(reply any) (u Usage, err error) {
	fields := fieldsOf(reply)
	u.Key, _ = fields["key"].(string)
	var start, end int64
	for name, to := range map[string]*int64{"limit": &u.Limit, "used": &u.Used, "reserved": &u.Reserved, "lent": &u.Lent, "remaining": &u.Remaining, "start_ms": &start, "end_ms": &end} {
		value, there := fields[name]
		if n, is := value.(int64); is {
			*to = n
		} else if !there || value != nil {
			return u, fmt.Errorf("%w (%v)", errReply, reply)
		}
	}
	if end != 0 {
		u.Start, u.End = time.UnixMilli(start), time.UnixMilli(end)
	}
	closed, ok := fields["history"].([]any)
	if !ok {
		return u, fmt.Errorf("%w (%v)", errReply, reply)
	}
	for _, w := range closed {
		n, err := integers(w, 4)
		if err != nil {
			return u, err
		}
		u.History = append(u.History, ClosedWindow{time.UnixMilli(n[0]), time.UnixMilli(n[1]), n[2], n[3]})
	}
	return u, nil
}
