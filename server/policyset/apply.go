package policyset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// ErrChanged says that the policies were changed since the changes were shown.
var ErrChanged = errors.New("somebody else has changed the policies since the changes were shown: look at the changes again")

// Apply makes the changes between the policies of a server and those that it should have, all of them or none. It
// returns them, and the policies before them. With a version other than "" it returns [ErrChanged] if the present
// policies have another one. from is who asks, in the server's log of commands.
func Apply(ctx context.Context, s *server.Server, from string, want Set, prune bool, version string) (have Set, changes []Change, err error) {
	s.ChangingPolicies.Lock()
	defer s.ChangingPolicies.Unlock()
	if have, err = Of(s); err != nil {
		return nil, nil, err
	}
	if version != "" && version != have.Version() {
		return nil, nil, ErrChanged
	}
	if changes, err = Compare(s, have, want, prune); err != nil || len(changes) == 0 {
		return have, nil, err
	}
	return have, changes, makeOrUndo(ctx, s, from, changes)
}

// makeOrUndo makes changes, all of them or none. An error says whether some may have been made all the same.
func makeOrUndo(ctx context.Context, s *server.Server, from string, changes []Change) error {
	made, err := makeAll(ctx, s, from, changes)
	if err == nil {
		return nil
	}
	if len(made) > 0 { // the server refused another one when it came to it, for example because there are too many
		if _, undoing := makeAll(ctx, s, from, undone(made)); undoing != nil {
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

// makeAll carries out changes: in a transaction, unless each group of keys has the policies, because no transaction
// changes several groups. If the server refused some of them, it returns those that were made, and the first error.
func makeAll(ctx context.Context, s *server.Server, from string, changes []Change) (made []Change, err error) {
	var commands [][]string
	for i := range changes {
		commands = append(commands, changes[i].words())
	}
	together := s.Config().Groups < 2
	if together {
		commands = slices.Concat([][]string{{"MULTI"}}, commands, [][]string{{"EXEC"}})
	}
	replies, err := s.Do(ctx, from, commands...)
	if together {
		if err != nil {
			return nil, err
		}
		replies = resp.Elements(replies[len(replies)-1])
	}
	for i, reply := range replies {
		switch {
		case reply.Type != redcon.Error:
			made = append(made, changes[i])
		case err == nil:
			err = server.ErrReply(reply.String())
		}
	}
	return made, err
}
