package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stintdb/stint/cluster/call"
)

// An entry of the log, little-endian:
//
//	offset  size  field
//	0       1     version of the format
//	1       1     kind
//	2       8     the cluster's time, nanoseconds since the Unix epoch
//	10      8     who proposed it: a number of the process, random
//	18      8     and which of its entries it is
//	26      …     of a decision: groups, see package call; of anything else: JSON
const (
	entryVersion = 1
	EntryHead    = 26

	KindDecisions = 1 // groups
	KindBootstrap = 2 // the cluster begins: its id
	KindMember    = 3 // a member's name and address, or its removal
	KindTick      = 4 // time has passed
	KindVersion   = 5 // the cluster's format version; proposed only when all members know version 2 or a later one
	KindAllowance = 6 // whether the leader takes tokens in its memory
	KindProcess   = 7 // which process of a member is running
	KindGroups    = 8 // the founders of the groups of keys
	KindPlacement = 9 // which nodes have replicas of these groups
)

var (
	errEntry      = call.ErrFormat
	errNewerEntry = errors.New("an entry of a newer version of Stint; start that version on this node")
)

// StampEntry fills in the head of an entry, for which room was left.
func StampEntry(b []byte, kind byte, now int64, proposer, number uint64) {
	b[0], b[1] = entryVersion, kind
	binary.LittleEndian.PutUint64(b[2:], uint64(now))
	binary.LittleEndian.PutUint64(b[10:], proposer)
	binary.LittleEndian.PutUint64(b[18:], number)
}

// entryView is an entry that is being read. It refers to the entry's bytes.
type entryView struct {
	kind             byte
	now              int64
	proposer, number uint64
	body             []byte
}

func readEntry(b []byte) (e entryView, err error) {
	switch {
	case len(b) < EntryHead || b[0] == 0:
		return e, errEntry
	case b[0] > entryVersion:
		return e, fmt.Errorf("version %d: %w", b[0], errNewerEntry)
	case b[1] < KindDecisions || b[1] > KindPlacement:
		return e, fmt.Errorf("kind %d: %w", b[1], errNewerEntry)
	}
	return entryView{
		kind: b[1], now: int64(binary.LittleEndian.Uint64(b[2:])),
		proposer: binary.LittleEndian.Uint64(b[10:]), number: binary.LittleEndian.Uint64(b[18:]), body: b[EntryHead:],
	}, nil
}
