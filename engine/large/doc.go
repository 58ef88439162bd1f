// Package large has the lists, sets, hashes, sorted sets and streams that are too large to be copied for each change: their
// elements are in blocks (package blocks), and the key keeps a short head. Smaller ones are flat bytes, which package
// datatype lays out.
package large
