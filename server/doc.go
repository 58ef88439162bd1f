// Package server answers clients. Bytes that arrive on a connection go through its session, a state machine that does
// no I/O; limiter commands become engine operations, a pipeline's worth at a time, and are decided by a [Decider];
// everything else is answered from the command table. DESIGN.md beside this file has the flow, the goroutines and the
// lock order.
package server
