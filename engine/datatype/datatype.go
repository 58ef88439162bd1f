// Package datatype lays out hashes, sorted sets, lists, sets and streams in flat bytes without pointers. Nothing in bytes that
// came from elsewhere is trusted: each type has a function that says whether bytes are one of it.
package datatype
