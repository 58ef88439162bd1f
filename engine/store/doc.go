// Package store is the state machine of the server: keys with their limiters and values, policies and scripts, in one
// [Store]. A caller passes operations to [Store.Apply] with the time of the decision; each gets one result. The same
// operations at the same times leave the same state.
//
// What an operation does is in the packages below. This package knows to which of them an operation goes, and what
// concerns all of them: answers that change nothing, changes for the journal, snapshots, and the work that operations
// would take.
package store
