package stint

import (
	"context"
	"fmt"
)

// MaxWeight is the largest weight of a member of a fair share.
const MaxWeight = 1000

// Member makes a token bucket a fair share (FS.ACQUIRE): the key belongs to a pool whose tokens its members share by
// weight, from 1 to [MaxWeight]. A member that wants less than its share gets all of it, and the others divide the
// rest. Remaining is the member's. A long name is shortened like a key. Other limits are returned as they are.
//
// Take the name from authentication: each name counts as a member. A pool has at most 4096 active members.
//
// [LocalShare] keeps to its share of the pool, first come, first served: it knows no members.
func (l Limit) Member(name string, weight int64) Limit {
	if l.algorithm == tokenBucket {
		l.algorithm, l.member, l.weight = fairShare, string(shortKey(name)), weight
	}
	return l
}

// checkMember refuses members that the server refuses.
func (l Limit) checkMember() error {
	switch {
	case l.member == "":
		return fmt.Errorf("%w: FS.ACQUIRE: the member needs a name", ErrInvalid)
	case l.weight < 1 || l.weight > MaxWeight:
		return fmt.Errorf("%w: FS.ACQUIRE: the weight must be between 1 and %d, got %d", ErrInvalid, MaxWeight, l.weight)
	}
	return nil
}

// A PoolMember is an active member of a fair share. Taken are the tokens that the refill has not given back to it yet.
type PoolMember struct {
	Name   string
	Weight int64
	Taken  int64
}

// Members lists the active members of a fair share (FS.MEMBERS), in the order of their names.
func (l *Limiter) Members(ctx context.Context, pool string) ([]PoolMember, error) {
	reply, err := l.ask(ctx, []any{"FS.MEMBERS", string(shortKey(pool))})
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w (%v)", errReply, reply)
	}
	members := make([]PoolMember, len(list))
	for i, item := range list {
		fields, _ := item.([]any)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%w (%v)", errReply, reply)
		}
		numbers, err := integers(fields[1:], 2)
		name, ok := fields[0].(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("%w (%v)", errReply, reply)
		}
		members[i] = PoolMember{Name: name, Weight: numbers[0], Taken: numbers[1]}
	}
	return members, nil
}
