// Package command is the table of commands: one row each, from which dispatch, arity errors, COMMAND and COMMAND DOCS,
// key positions and docs/commands.md are derived.
//
// There are two kinds of rows. A limiter command has Parse, which turns arguments into engine operations and touches no
// state, and Reply, which writes their results. Every other command has Run, which answers at once through its
// [Session]. A new command is a row, its functions, and a transcript.
package command
