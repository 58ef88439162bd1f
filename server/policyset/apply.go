package policyset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server"
)

// ErrChanged says that the policies were changed since the changes were shown.
var ErrChanged = errors.New("somebody else has changed the policies since the changes were shown: look at the changes again")

// applying serializes changes of sets, so that the version that one of them expects is still there when it begins.
var applying sync.Mutex

// Apply makes the changes between the policies of a server and those that it should have, all of them or none, and
// returns them. With a version other than "" it returns [ErrChanged] if the present policies have another one. from is
// who asks, in the server's log of commands.
func Apply(ctx context.Context, s *server.Server, from string, want Set, prune bool, version string) ([]Change, error) {
	applying.Lock()
	defer applying.Unlock()
	have, err := Of(s)
	if err != nil {
		return nil, err
	}
	if version != "" && version != have.Version() {
		return nil, ErrChanged
	}
	changes, err := Compare(s, have, want, prune)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	failed, err := makeAll(ctx, s, from, changes)
	if err == nil {
		return changes, nil
	}
	if failed >= 0 { // the server refused one of them when it came to it, for example because there are too many
		made := append(changes[:failed:failed], changes[failed+1:]...)
		if _, undoing := makeAll(ctx, s, from, undone(made)); undoing != nil {
			return nil, fmt.Errorf("%w; the other changes were made, and could not be taken back: %w", err, undoing)
		}
	}
	return nil, fmt.Errorf("%w; nothing was changed", err)
}

// makeAll carries out changes: in a transaction, unless each group of keys has the policies, because no transaction
// changes several groups. If the server refused a change, and made others, failed is its number; otherwise it is -1.
func makeAll(ctx context.Context, s *server.Server, from string, changes []Change) (failed int, err error) {
	var commands [][]string
	for i := range changes {
		commands = append(commands, changes[i].words())
	}
	if s.Config().Groups > 1 {
		replies, err := s.Do(ctx, from, commands...)
		return slices.IndexFunc(replies, isError), err
	}
	replies, err := s.Do(ctx, from, slices.Concat([][]string{{"MULTI"}}, commands, [][]string{{"EXEC"}})...)
	if err != nil {
		return -1, err
	}
	var made []redcon.RESP
	replies[len(replies)-1].ForEach(func(reply redcon.RESP) bool {
		made = append(made, reply)
		return true
	})
	if failed = slices.IndexFunc(made, isError); failed >= 0 {
		err = server.ErrReply(made[failed].String())
	}
	return failed, err
}

func isError(reply redcon.RESP) bool { return reply.Type == redcon.Error }
