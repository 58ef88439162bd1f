// Package command is the table of commands: one row each, from which dispatch, arity errors, COMMAND and COMMAND DOCS,
// key positions and docs/commands.md are derived.
//
// The commands themselves are in packages by what they work on: limiter, data and ops. Package all registers their rows, and is imported by whoever looks commands
// up. What is here serves all of them: rows, requests, arguments, access, costs, errors, and the [Session] by which a row reaches the server.
package command
