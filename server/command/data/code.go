package data

import "github.com/stintdb/stint/server/command"

// functions carry out the commands, by [command.Row.Data] less 1.
var functions []func(c *Call)

// Code returns the Data of a row whose command a function carries out.
func Code(f func(c *Call)) int {
	functions = append(functions, f)
	return len(functions)
}

// run carries out the command of a row.
func run(c *Call, row *command.Row) { functions[row.Data-1](c) }
