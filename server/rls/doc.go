// Package rls decides requests of Envoy's rate limit service, version 3. It reads rules in the format of
// envoyproxy/ratelimit, finds the rule of each descriptor, writes commands that decide, and makes the answer from their
// replies. It knows neither gRPC nor sessions.
package rls
