// Package rlqs divides limits between streams of Envoy's rate limit quota service. A stream is one Envoy. It reports
// what its buckets have granted and denied, and a [Table] answers with assignments. The limit's home lends the tokens
// and rates of assignments, so all nodes together assign no more than the limit (decision 0038). The package knows
// neither gRPC nor sessions, and has no clock: time is an argument.
package rlqs
