// Package conn is the connection to a client: its session, a state machine that does no I/O, and everything that
// sessions share. Bytes that arrive go through [Session.ServeInput]: limiter commands become engine operations, a
// pipeline's worth at a time, and go to the decider of [Env]; the table of commands answers all others.
//
// The files are in the order of a request's way: read.go, execute.go (one command), batch.go, decision.go, reply.go,
// recording.go, and session_io.go around them. The packages below have the parts with a state of their own.
package conn
