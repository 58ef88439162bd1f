package stint

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"
)

// A Request is asked of several limits at once; see [Limiter.AllWith] and [Limiter.CheckWith].
type Request struct {
	// Tokens is the number asked of each limit that has no Cost. It must be above 0.
	Tokens int64
	// Keep is the part that the request leaves of each limit that has no Keep, except of limits that have none.
	// It excludes MaxWait.
	Keep Keep
	// MaxWait, if it is above 0, reserves: buckets may grant tokens that will be there within this time, and queues
	// only places with a wait that is no longer. Wait for [MultiResult].Wait before acting. Windows, and limits with a
	// Keep, must have room now. It is rounded down to milliseconds, but at least one. A request whose context ends may
	// have been granted: with an ID, [Limiter.Cancel] gives it back.
	MaxWait time.Duration
	// Fields are the values of the {name} in the keys of a policy, such as a tenant. The server refuses a check that
	// lacks a field, or has one that no limit of the policy asks for. Long values are shortened like a key. They are
	// for CheckWith only.
	Fields map[string]string
	// ShowWarn has [LimitState].Warn set for the limits of a policy that warn. It is for CheckWith only; limits given
	// to AllWith need none.
	ShowWarn bool
	// Split has [LimitState].Granted set if the last limit is a [Balance], and [LimitState].Warn as ShowWarn does.
	Split bool
	// ID, if it is not empty, is the key under which the server remembers a grant, for the time of Remember. The same
	// request with the same ID again is answered alike and takes nothing, so the limiter repeats it when a reply is
	// lost, and the caller may. A request with other parameters needs a new ID. Afterwards [Limiter.Settle] charges the
	// true cost. A long ID is shortened like a key.
	ID string
	// Remember is how long a grant with an ID can be settled. It is rounded up to milliseconds.
	Remember time.Duration
}

// check refuses requests that the protocol cannot express.
func (r Request) check() error {
	if r.Tokens < 1 {
		return errTokens(r.Tokens)
	}
	if r.MaxWait < 0 {
		return fmt.Errorf("%w: MaxWait must not be below 0, got %v", ErrInvalid, r.MaxWait)
	}
	if err := r.Keep.check(); err != nil {
		return err
	}
	if r.Keep != "" && r.MaxWait > 0 {
		return fmt.Errorf("%w: a request has a Keep or a MaxWait, not both", ErrInvalid)
	}
	if r.Remember < 0 || (r.ID == "") != (r.Remember == 0) {
		return fmt.Errorf("%w: a request has an ID and a time above 0 to Remember it, or neither; got %q and %v", ErrInvalid, r.ID, r.Remember)
	}
	return nil
}

// appendOptions appends the options that follow the tokens, except Keep.
func (r Request) appendOptions(arguments []any) []any {
	if r.MaxWait != 0 {
		arguments = append(arguments, "MAXWAIT", milliseconds(max(time.Millisecond, r.MaxWait.Truncate(time.Millisecond))))
	}
	if r.ID != "" {
		arguments = append(arguments, "AS", string(shortKey(r.ID)), "FOR", remembered(r.Remember))
	}
	if r.Split {
		arguments = append(arguments, "SPLIT")
	}
	return arguments
}

// A Keep is the part of a limit that a request leaves to others: it is granted only if so much remains afterwards. Less
// important requests keep more, so they are denied first: see
// https://github.com/stintdb/stint/blob/main/docs/recipes/priorities.md. Make one with [KeepTokens] or [KeepPercent];
// the zero Keep leaves nothing. It is for buckets and windows. [LocalShare] takes no account of it.
type Keep string

// KeepTokens leaves n tokens.
func KeepTokens(n int64) Keep { return Keep(strconv.FormatInt(n, 10)) }

// KeepPercent leaves a percentage of the limit's tokens, between 0 and 100 with at most three decimals. The number of
// tokens is rounded up.
func KeepPercent(percent float64) Keep {
	return Keep(strconv.FormatFloat(math.Round(percent*1000)/1000, 'f', -1, 64) + "%")
}

// keeps are the texts that a Keep may have.
var keeps = regexp.MustCompile(`^([0-9]{1,12}|1000000000000|([0-9]{1,2}(\.[0-9]{1,3})?|100(\.0{1,3})?)%)?$`)

// check refuses a text that is no part of a limit, such as a percentage that is not a number.
func (k Keep) check() error {
	if !keeps.MatchString(string(k)) {
		return fmt.Errorf("%w: Keep must be a number of tokens from 0 to 1000000000000, or a percentage from 0 to 100 with at most three decimals, got %q", ErrInvalid, string(k))
	}
	return nil
}

func (k Keep) appendOption(arguments []any) []any {
	if k == "" {
		return arguments
	}
	return append(arguments, "KEEP", string(k))
}
