// Package database has the names by which keys of several databases lie in one keyspace, and counts the keys of each.
package database
