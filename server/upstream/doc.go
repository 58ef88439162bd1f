// Package upstream decides on keys whose limits have their home in another cluster, from tokens that home has lent to this one.
//
// [Upstream] stands before the decider of a server or node. It hands on every operation on other keys as it is. An acquire of a key
// of home becomes one of the key's [purse.Purse]. If that has too few tokens, the request waits for a loan, or home decides it alone.
//
// Each step of a loan is an operation on the store. So any process with the same store can go on where another has ended, and the
// nodes of a cluster need no agreement on the one that asks home.
package upstream
