package ops

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var monitorRows = []command.Row{{
	Name: "monitor", Group: "server",
	Summary: "Stream every command that the server executes, until RESET or the end of the connection.",
	Returns: "`OK`. Then a line for each command: Unix time, database and address, words.",
	Cost:    command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
		if err := s.Monitor(); err != nil {
			w.Error(err.Error())
			return
		}
		w.Status("OK")
	},
}}
