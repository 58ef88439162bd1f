package engine

// PartSet is a set of parts of an operation, by their positions.
type PartSet uint64

// Parts returns the set of the first n parts.
func Parts(n int) PartSet { return ^PartSet(0) >> (MaxParts - n) }

// Has reports whether part i is in the set.
func (s PartSet) Has(i int) bool { return s>>i&1 == 1 }

// Add adds part i.
func (s *PartSet) Add(i int) { *s |= 1 << i }
