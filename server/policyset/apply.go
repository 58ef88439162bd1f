package policyset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command"
)

// ErrChanged says that the policies were changed since the changes were shown.
var ErrChanged = errors.New("somebody else has changed the policies since the changes were shown: look at the changes again")

// Apply makes the changes between the policies of a server and those that it should have, all of them or none. It
// returns them, and the policies before them. With a version other than "" it returns [ErrChanged] if the present
// policies have another one. from is who asks, in the server's log of commands.
func Apply(ctx context.Context, s *server.Server, from string, want Set, prune bool, version string) (have Set, changes []Change, err error) {
	var ordered []Change
	replies, err := Update(ctx, s, from, func() (_ [][]string, err error) {
		changes = nil
		if have, err = Of(s); err != nil {
			return nil, err
		}
		if version != "" && version != have.Version() {
			return nil, ErrChanged
		}
		changes, err = Compare(s, have, want, prune)
		ordered = removalsFirst(changes)
		return words(ordered), err
	})
	if len(changes) == 0 || err == nil || errors.Is(err, ErrChanged) {
		return have, changes, err
	}
	return have, changes, undo(ctx, s, from, ordered, replies, err)
}

// attempts is how often a change is tried that others overtake.
const attempts = 16

// removalsFirst puts the removals among changes first, because they make room for what is added.
func removalsFirst(changes []Change) []Change {
	isKept := func(c Change) bool { return c.After != nil }
	isRemoved := func(c Change) bool { return c.After == nil }
	return slices.Concat(slices.DeleteFunc(slices.Clone(changes), isKept), slices.DeleteFunc(slices.Clone(changes), isRemoved))
}

// Update makes a change of policies that depends on the present ones, which commands reads. If somebody else changes a
// policy before that, on whichever node, nothing is done, and commands is called again. An error of commands ends that. If
// the server refuses a command, Update returns the replies to all of them, and the error of the first.
func Update(ctx context.Context, s *server.Server, from string, commands func() ([][]string, error)) (replies []redcon.RESP, err error) {
	for range attempts {
		seen := s.Keys().PoliciesSum() // before they are read: a change in between counts
		all, err := commands()
		if err != nil || len(all) == 0 {
			return nil, err
		}
		if replies, err = doAll(ctx, s, from, &seen, all); !errors.Is(err, server.ErrPoliciesChanged) {
			return replies, err
		}
		if _, err = s.Do(ctx, server.FromSettings, []string{"RL.POLICY", "VERSION"}); err != nil { // waits until this node knows the change
			return nil, err
		}
	}
	return nil, ErrChanged
}

// doAll carries out commands in as few transactions as they fit, until one is refused, and returns the replies. If
// policies is not nil, the first transaction is executed only while the policies have this sum. The others are executed
// even if ctx ends: otherwise only a part of the changes would be made.
func doAll(ctx context.Context, s *server.Server, from string, policies *[engine.PoliciesSumBytes]byte, commands [][]string) (replies []redcon.RESP, err error) {
	for len(commands) > 0 && err == nil {
		n := server.FitTransaction(s.Config(), commands)
		var some []redcon.RESP
		some, err = server.DoTogether(ctx, s, from, policies, commands[:n])
		replies, commands, policies = append(replies, some...), commands[n:], nil
		ctx = context.WithoutCancel(ctx)
	}
	return replies, err
}

// undo takes changes back that were made although the server refused others, and adds to the error whether some of them
// may have stayed.
func undo(ctx context.Context, s *server.Server, from string, changes []Change, replies []redcon.RESP, err error) error {
	var made []Change
	for i, reply := range replies {
		if reply.Type != redcon.Error {
			made = append(made, changes[i])
		}
	}
	if len(made) > 0 { // the server refused another one when it came to it, for example because there are too many
		if _, undoing := doAll(context.WithoutCancel(ctx), s, from, nil, words(undone(made))); undoing != nil {
			return fmt.Errorf("%w; the other changes were made, and could not be taken back: %w", err, undoing)
		}
	}
	if !isRefusal(err) {
		return fmt.Errorf("%w; the changes may have been made: look at the changes again", err)
	}
	return fmt.Errorf("%w; nothing was changed", err)
}

// isRefusal reports whether an error says that the server did not do what it was asked for.
func isRefusal(err error) bool {
	var reply server.ErrReply
	return errors.As(err, &reply) && string(reply) != command.ErrUncertain.Error() && string(reply) != command.ErrNotKept.Error()
}
