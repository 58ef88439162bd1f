package limiter

import (
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// limitSpec is one way to write a limit: its algorithm, and its parameters, which follow the key.
type limitSpec struct {
	word      string // the word in RL.ALL and policies
	algorithm limits.Algorithm
	params    []string // the arguments between the key and the holder, or the end
	who       string   // the argument after the parameters, for a holder or member; "" if there is none
	options   string   // the options that RL.ALL and policies take for this limit only
	amount    string   // the argument of the algorithm's own command for a number of tokens; "" if there is none
	read      func(r *command.Request, a [][]byte) (limits.Limit, error)

	noWarn     string                                                     // why WARN makes no sense; "" if it does
	assured    func(r *command.Request, a [][]byte) (limits.Limit, error) // parses the assured rate of a class
	isAncestor bool                                                       // the limit of an ancestor, which follows a class or another ancestor
}

// The names of arguments that say who asks.
const (
	holderName = "holder"
	memberName = "member"
)
