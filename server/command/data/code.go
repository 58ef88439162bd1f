package data

import "github.com/stintdb/stint/server/command"

// functions are the functions of the commands. A row's Data is the index of its function plus 1, so that 0 means none.
var functions []func(c *Call)

// Code registers the function of a command and returns the Data of its row.
func Code(f func(c *Call)) int {
	functions = append(functions, f)
	return len(functions)
}

// run calls the function of a row.
func run(c *Call, row *command.Row) {
	c.reads = row.Flags&command.ReadOnly != 0
	functions[row.Data-1](c)
}
