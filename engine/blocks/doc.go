// Package blocks keeps the elements of a large list, set, hash or sorted set in blocks of about a kilobyte, under a
// B+tree that counts them. Finding, adding or removing an element by its place or by its bytes changes a few blocks,
// however many elements there are. The blocks themselves are in a [Store], which another package has.
package blocks
