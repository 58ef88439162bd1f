package command_test

import (
	"slices"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// A user who may only use limiters has no command on data, because these are in separate categories.
func TestDataIsNoLimiter(t *testing.T) {
	for _, row := range command.All {
		switch {
		case row.In("limiter") && (row.Group != "limiter" || row.Data != 0):
			t.Errorf("%s is in @limiter", row.FullName)
		case row.Data != 0 && row.Group != "server" && row.Group != "connection" && row.Group != "pubsub" && row.Flags&command.Observes == 0 && len(row.Categories()) < 3:
			t.Errorf("%s is in %q: its group %q is missing in category.go", row.FullName, row.Categories(), row.Group)
		}
	}
}

// The permission for a key and for limiters does not include operators' commands on the key, such as ending the loan of
// another process. These commands are only in categories that follow from their flags. Operators' commands without a
// key need the permission for all keys, or only show readable ones.
func TestOperatorsCommandsOnKeys(t *testing.T) {
	for _, row := range command.All {
		if row.Flags&command.Admin == 0 || row.Keys == (command.Keys{}) {
			continue
		}
		for _, category := range command.GroupCategories() {
			if row.In(category) {
				t.Errorf("%s is in @%s", row.FullName, category)
			}
		}
		if !row.In("admin") {
			t.Errorf("%s is not in @admin", row.FullName)
		}
	}
	if void := command.LookUp([]byte("rl.void")); !slices.Equal(void.Categories(), []string{"write", "admin", "slow"}) {
		t.Errorf("RL.VOID is in %q", void.Categories())
	}
}

// The commands on data are in Redis's categories.
func TestCategoriesAreThoseOfRedis(t *testing.T) {
	for name, want := range map[string][]string{
		"get":    {"read", "fast", "string"},
		"set":    {"write", "slow", "string"},
		"zadd":   {"write", "fast", "sortedset"},
		"zunion": {"read", "slow", "sortedset"},
		"expire": {"write", "fast", "keyspace"},
	} {
		if got := command.LookUp([]byte(name)).Categories(); !slices.Equal(got, want) {
			t.Errorf("%s is in %q, want %q", name, got, want)
		}
	}
}

// Within MULTI, every command is queued or refused, as in Redis, except commands that end it, and WATCH, whose error
// does not affect it. Any other reply would be out of step with the reply of EXEC.
func TestCommandsAtOnceWithinMulti(t *testing.T) {
	var names []string
	for _, row := range command.All {
		if row.Flags&command.NoMulti != 0 {
			names = append(names, row.FullName)
		}
	}
	slices.Sort(names)
	if want := []string{"discard", "exec", "multi", "quit", "reset", "watch"}; !slices.Equal(names, want) {
		t.Errorf("%v are carried out at once, want %v", names, want)
	}
}
