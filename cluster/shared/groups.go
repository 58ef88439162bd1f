package shared

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/internal/loans"
)

// turnsOf returns the turns of a group.
func (l *Limits) turnsOf(group int) loans.Turns {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns[group] == nil {
		l.turns[group] = loans.NewTurns()
	}
	return l.turns[group]
}

// holderOf returns the name of a group as the holder of a loan.
func holderOf(group int) string { return fmt.Sprint(keyspace.GroupHolder, group) }

// groupOf returns the group whose name is that of a holder.
func groupOf(holder []byte) (group int, is bool) {
	number, is := bytes.CutPrefix(holder, []byte(keyspace.GroupHolder))
	group, err := strconv.Atoi(string(number))
	return group, is && err == nil
}
