package disk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A file is named by its kind and its number, which rises from file to file:
//
//	snapshot-00000000000000000007.stint   complete once it has this name
//	journal-00000000000000000007.stint    changes since that snapshot was begun
//	snapshot-….tmp                        being written, or left behind by a crash
//
// and in the directory of an entry log
//
//	log-00000000000000000007.stint        a part of it
//	log-….stint.spare                     a recycled segment: empty, or with entries no longer needed
const (
	SnapshotPrefix = "snapshot-"
	JournalPrefix  = "journal-"
	LogPrefix      = "log-"
	suffix         = ".stint"
	TempSuffix     = ".tmp"
	RecycledSuffix = ".spare"
	lockName       = "LOCK"
)

// FileName is the name of a file of a kind.
func FileName(prefix string, number uint64) string {
	return fmt.Sprintf("%s%020d%s", prefix, number, suffix)
}

// NumberOf returns the number in a file's name, whatever its kind.
func NumberOf(name string) (number uint64, ok bool) {
	for _, prefix := range []string{SnapshotPrefix, JournalPrefix, LogPrefix} {
		if n := Numbers([]string{name}, prefix); len(n) == 1 {
			return n[0], true
		}
	}
	return 0, false
}

// Numbers lists the numbers of the files with a prefix, in order.
func Numbers(names []string, prefix string) (found []uint64) {
	for _, name := range names {
		digits, isOurs := strings.CutPrefix(name, prefix)
		digits, whole := strings.CutSuffix(digits, suffix)
		if n, err := strconv.ParseUint(digits, 10, 64); isOurs && whole && err == nil {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found
}
