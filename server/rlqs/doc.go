// Package rlqs divides limits between streams of Envoy's rate limit quota service. A stream is an Envoy. It reports what its buckets have
// granted and denied; a [Table] answers with assignments. Tokens and rates of assignments are lent by the limit's home, so that all nodes
// together assign no more than the limit (decision 0038). The package knows neither gRPC nor sessions, and has no clock: time is an argument.
package rlqs
