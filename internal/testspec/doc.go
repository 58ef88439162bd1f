// Package testspec says by small models how Stint keeps limits when tokens are in several places, and a machine checks the
// models: every state that can be reached within the bounds of a model is visited.
//
//	go test ./internal/testspec -v                   # the small models and all bugs, in seconds
//	go test ./internal/testspec -v -states 20000000  # all models, in minutes
//
// To read them, begin with copied.go, the smallest, and with the bugs in testdata/counterexamples.txt: each shows why a rule
// is there. Each file is one model, and begins with what it says:
//
//   - loan.go, protocol.go: a loan over two or three levels, with messages that are lost, repeated and late (decision 0021)
//   - lease.go, leader.go: the leader's allowance, and two leaders whose clocks run at different speeds (decisions 0013 and 0021)
//   - process.go: the purses of a node, which is restarted, cut off and removed (decision 0021)
//   - shared.go: the loan of a group that has lost its purse (decision 0039)
//   - member.go: voters that lose their disk, and copies of a directory (decision 0039)
//   - copied.go: a cluster that begins with a copy of another one's state
//
// A model is a function from a state to its next states, and [Model.Check] visits all of them. With a [Bug], a model has
// one rule changed; the checker must find how that breaks a promise, and shows the shortest way there, one sentence for
// each step. The rules of a loan also check what stores have done, and those of leaders what nodes have granted from memory,
// and when they voted: see [Tracer], [Leaders] and [Voters].
package testspec
