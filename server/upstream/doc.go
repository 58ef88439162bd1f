// Package upstream decides requests under limits whose home is another cluster, from tokens that home has lent.
//
// [Upstream] stands before the decider of a server or node, and hands on operations on other keys as they are. A
// request for tokens of a key of home is decided in the key's purse, which is an entry of the store. If the purse has
// too few tokens, the request waits for a loan, or home decides it alone. Package loans borrows and returns the tokens.
package upstream
