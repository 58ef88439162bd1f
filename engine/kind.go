package engine

import "github.com/stintdb/stint/engine/limits"

// Kind is what a key holds: a kind of data, or the limiter of an algorithm. Its number is the algorithm under which the
// key is kept, on disk too, so that a key is one or the other.
type Kind uint8

// The kinds of data. [NoKind] is the kind of a key that is not there.
const (
	NoKind        = Kind(limits.NoAlgorithm)
	StringKind    = Kind(limits.StringValue)
	HashKind      = Kind(limits.HashValue)
	SortedSetKind = Kind(limits.SortedSetValue)
	ListKind      = Kind(limits.ListValue)
	SetKind       = Kind(limits.SetValue)
	StreamKind    = Kind(limits.StreamValue)
	GCRAKind      = Kind(limits.GCRAValue) // the state of Redis's command GCRA
)

// KindOf is the kind of a key that is kept under an algorithm.
func KindOf(a limits.Algorithm) Kind { return Kind(a) }

// Algorithm is the algorithm under which a key of the kind is kept.
func (k Kind) Algorithm() limits.Algorithm { return limits.Algorithm(k) }

// IsData reports whether the kind is one of data, and no limiter.
func (k Kind) IsData() bool { return k.Algorithm().IsValue() }

// String is the name of the kind as TYPE answers it, such as zset.
func (k Kind) String() string { return k.Algorithm().String() }

// DataKinds lists the kinds of data.
func DataKinds() (all []Kind) {
	for a := limits.NoAlgorithm; a.Known(); a++ {
		if k := KindOf(a); k.IsData() {
			all = append(all, k)
		}
	}
	return all
}
