// Package replay shows the effect that rate limits would have had on the requests of an access log.
//
// A [Plan] names the log, the fields that make a key and the limits. [Plan.Run] reads the log once, asks the engine at
// the time of each line, and returns a [Report], which can be written as text or as JSON. Memory grows with the number
// of keys, not with the log, and is bounded by the plan.
package replay
