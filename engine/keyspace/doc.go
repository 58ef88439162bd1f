// Package keyspace holds keys with their states in memory, in shards that are locked one by one, and carries out
// operations on one key. What takes several keys at once is built on top of it, in package store.
package keyspace
