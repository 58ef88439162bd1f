package command

import "github.com/stintdb/stint/engine"

// Executor carries out data commands on a store's keys: the [engine.Commands] of every store. The zero value is ready for
// use.
type Executor struct{}

// Run implements [engine.Commands].
func (e *Executor) Run(tx *engine.Tx, op *engine.Op, res *engine.Result) {
	c := DataCall{Tx: tx, Args: op.Args}
	c.Writer.Buf = res.Reply
	if row := lookUp(op.Args[0]); row != nil && row.Data != nil && row.accepts(len(op.Args)) {
		row.Data(&c)
	} else { // of a log that another version wrote
		c.fail(unknownCommand(op.Args))
	}
	res.Reply = c.Writer.Buf
}
