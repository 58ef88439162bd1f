// Package opcodec turns operations and results of the engine into bytes and back: for entries of the log, and between
// nodes. Its readers trust nothing: every operation that they return can be applied.
package opcodec
