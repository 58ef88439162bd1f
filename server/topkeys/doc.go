// Package topkeys finds the keys that come most often in a stream, in bounded memory.
//
// A [Sketch] keeps a pane for each of the last minutes, and each pane is a Space-Saving summary: Metwally, Agrawal and
// El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005. A summary has a fixed
// number of counters. A key that has none takes over the smallest one and goes on from its count, which is then the
// most by which the new count can be too large.
//
// For the keys that have a counter, a sketch also counts the requests that passed, so that it knows the share of a
// key's own requests that was denied: [Share].
package topkeys
