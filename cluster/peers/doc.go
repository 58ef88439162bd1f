// Package peers asks the other nodes of a cluster about themselves and about their groups, keeps what they answered
// last, and answers their questions.
package peers
