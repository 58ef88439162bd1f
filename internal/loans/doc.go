// Package loans grants requests away from the place where their limit is decided.
//
// A limit has one home: the group of a cluster that has its key, or another cluster. A loan is a number of tokens that
// home sets aside for a holder and counts as taken from then on. The holder keeps them in a purse, an entry of its own
// store, and grants requests from the purse without asking home. What nobody uses goes back.
//
// Home and all purses together never grant more than the limit alone would, because a token is never in two places.
// Home takes tokens out of the limiter before it names them in an answer, and the purse adds them once it has the
// answer. Tokens that go back leave the purse before home hears of them. Each operation on a loan has a number: home
// answers a repeated one alike, and the purse takes each answer once. The protocol is in [purse.Purse]. A failure at
// any step leaves tokens that nobody can grant for a while, so too few are granted, never too many.
//
// A [Keeper] follows the protocol for the purses of one holder, or of several. It measures how fast each purse is used,
// borrows more before the purse is empty, lets requests wait for an operation on the loan, repeats a denial of home for
// a moment, and returns what has not been used for a time. If a home far away denies, it is asked again before its denial
// ends, so no requests wait for a limit that is exceeded all the time. All of this is bounded. Each step is an operation on
// the store that has the purse, so any node with that store can go on where another has stopped, and nodes need not
// agree on the one that asks home.
//
// Two packages use it:
//   - cluster/shared, for a limit that the groups of a cluster share. The holder is a group, home is another group, and
//     a request that asks several limits at once takes all of them in one group or none. A request waits for the loan
//     in any case, so home also says when it could be granted.
//   - server/upstream, for a region whose limits are decided by a cluster far away. The holder is the region, home is
//     behind a connection, and home decides a request itself when a loan is not worth its while.
//
// The Keeper does not look into requests. A [Request] is one operation that takes tokens from purses and is decided
// again after each operation on the loan. So a request for one limit, for several, under a policy or for a reservation
// waits alike, as long as the store decides it in one operation: it waits for one key at a time, the one that was
// short. The tokens of a purse can be lent on, by an operation that takes them from the purse as a request does.
// A process beside an application is a holder like any other: this server is its home, and its purses are in memory.
package loans
