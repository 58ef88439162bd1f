// Package command is the table of commands. Dispatch, arity errors, COMMAND and COMMAND DOCS, key positions and
// docs/commands.md are all derived from the table's rows.
//
// The commands themselves are in the packages below: limiter, data and ops. Package all registers their rows; import it
// to look commands up. This package has what they share: rows, requests, arguments, access, costs, errors, and the
// [Session] through which a command reaches the server.
package command
