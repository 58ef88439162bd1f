// Package datatype lays out hashes, sorted sets, lists and sets in flat bytes without pointers. Nothing in bytes that
// came from elsewhere is trusted: each type has a function that says whether bytes are one of it.
package datatype

// ValidHash reports whether data is a hash.
func ValidHash(data []byte) bool { return len(data) == 0 }

// ValidSortedSet reports whether data is a sorted set.
func ValidSortedSet(data []byte) bool { return len(data) == 0 }

// ValidList reports whether data is a list.
func ValidList(data []byte) bool { return len(data) == 0 }

// ValidSet reports whether data is a set.
func ValidSet(data []byte) bool { return len(data) == 0 }
