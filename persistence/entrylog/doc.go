// Package entrylog keeps numbered entries durably: the storage of a Raft log. A [Log] is of one group; a [Shared] log
// has the entries of several groups in the same files.
package entrylog
