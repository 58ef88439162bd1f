package ops

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var monitorRows = []command.Row{{
	Name: "monitor", Group: "server",
	Summary: "Stream every command that the server executes, until RESET or the end of the connection. Lines beyond a backlog of one megabyte are dropped and counted.",
	Returns: "`OK`. Then a line for each command: Unix time, database and address, words. Commands for operators and commands with passwords are not shown.",
	Cost:    command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
		if err := s.Monitor(); err != nil {
			w.Error(err.Error())
			return
		}
		w.Status("OK")
	},
}}
