package ops

import (
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var serverRows = []command.Row{{
	Name: "info", Syntax: "[section ...]", Group: "server", Summary: "Report the state of the server, in sections.",
	Returns: "text: lines of names and values under section headings. `# Policies` has a line for each policy with the checks that this node answered since it started: `policy_<name>:shadow=0,granted=…,denied=…,shadow_denied=…`.",
	Cost:    command.Information, Flags: command.Dangerous, Run: runInfo,
}, {
	Name: "config", Syntax: "subcommand", Group: "server", Summary: "Read and change settings.",
	Sub: []command.Row{
		{Name: "get", Syntax: "pattern ...", Group: "server", Summary: "The settings whose names match the patterns.",
			Returns: "a map of names and values.", Example: "*",
			Cost: command.Report, Flags: command.Admin | command.Dangerous, Run: runConfigGet},
		{Name: "set", Syntax: "name value ...", Group: "server", Summary: "Change settings, all or none.",
			Returns: "`OK`.", Example: "requirepass x",
			Cost: command.Information, Flags: command.Admin | command.Dangerous, Run: runConfigSet},
		{Name: "rewrite", Group: "server", Summary: "Write the current settings to the configuration file.",
			Returns: "`OK`.",
			Cost:    command.Information, Flags: command.Admin | command.Dangerous,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().ConfigRewrite()) }},
		{Name: "resetstat", Group: "server", Summary: "Set the counters of INFO to zero.",
			Returns: "`OK`.",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Server().ResetStats(); w.Status("OK") }},
	},
}, {
	Name: "module", Group: "server", Summary: "Inspect modules, which Stint does not have.",
	Sub: []command.Row{{
		Name: "list", Group: "server", Summary: "List the loaded modules: always none. Some programs ask every server.",
		Returns: "an empty array.",
		Cost:    command.Light, Flags: command.Harmless, Run: func(_ command.Session, w *resp.Writer, _ [][]byte) { w.Array(0) },
	}},
}, {
	Name: "save", Group: "server", Summary: "Write a snapshot and wait until it is complete. Other connections are not blocked.",
	Returns: "`OK`. Sent when the snapshot is complete.",
	Cost:    command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: runSave,
}, {
	Name: "bgsave", Syntax: "[SCHEDULE]", Group: "server", Summary: "Start a snapshot in the background.",
	Returns: "`Background saving started`.",
	Cost:    command.Light, Flags: command.Admin | command.Dangerous, Run: runBackgroundSave,
}, {
	Name: "lastsave", Group: "server", Summary: "Unix time in seconds of the last complete snapshot, or of the server's start if there is none.",
	Returns: "an integer.",
	Cost:    command.Light, Flags: command.Fast | command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.Int(s.Server().LastSave()) },
}, {
	Name: "role", Group: "server", Summary: "The replication role: master for a standalone server and a cluster's leader, slave for other nodes.",
	Returns: "on a standalone server `master`, 0 and an empty array. On the leader of a cluster `master`, the index of the last committed log entry, and the host, port and applied index of each follower that is up. On another node `slave`, the leader's host and port, `connected` or `connect`, and its applied index.",
	Cost:    command.Light, Flags: command.Admin | command.Fast | command.Dangerous, Run: runRole,
}, {
	Name: "wait", Syntax: "numreplicas timeout", Group: "generic",
	Summary: "Wait until numreplicas other nodes have acknowledged all earlier writes, at most for timeout milliseconds; 0 means without a limit.",
	Returns: "the number of other nodes that have acknowledged, an integer; 0 on a standalone server. Within EXEC, it does not wait, and returns half the number of voters: at least so many other nodes acknowledge each write before it is executed.",
	Example: "0 0",
	Cost:    command.Light, Flags: command.Blocking | command.Connection, Run: runWait,
}, {
	Name: "shutdown", Syntax: "[NOSAVE | SAVE] [NOW] [FORCE]", Group: "server",
	Summary: "Reply to the requests already read, close every connection, and exit. NOW does not wait for clients to read their replies; NOSAVE skips the final snapshot.",
	Returns: "no reply; the server closes the connection.", Example: "NOW",
	Cost: command.Light, Flags: command.Admin | command.Dangerous | command.NotInMulti, Run: runShutdown,
}}

func runInfo(s command.Session, w *resp.Writer, args [][]byte) {
	var sections []string
	for _, a := range args[1:] {
		sections = append(sections, strings.ToLower(string(a)))
	}
	w.Verbatim(s.Server().Info(sections))
}

func runConfigGet(s command.Session, w *resp.Writer, args [][]byte) {
	pairs := s.Server().ConfigGet(command.Texts(args[2:]))
	w.Map(len(pairs) / 2)
	for _, p := range pairs {
		w.BulkString(p)
	}
}

func runConfigSet(s command.Session, w *resp.Writer, args [][]byte) {
	if len(args)%2 != 0 {
		w.Error(command.WrongArity(command.LookUp([]byte("config")).Subcommand([]byte("set"))).Error())
		return
	}
	okOrError(w, s.Server().ConfigSet(command.Texts(args[2:])))
}

func runSave(s command.Session, w *resp.Writer, _ [][]byte) {
	s.Await(func(done func(error)) {
		if err := s.Server().Save(done); err != nil {
			done(err)
		}
	})
}

func runBackgroundSave(s command.Session, w *resp.Writer, args [][]byte) {
	if len(args) > 1 && (len(args) > 2 || !command.IsWord(args[1], "SCHEDULE")) {
		w.Error(command.ErrSyntax.Error())
		return
	}
	if err := s.Server().SaveAlone(); err != nil {
		w.Error(err.Error())
		return
	}
	w.Status("Background saving started")
}

func runShutdown(s command.Session, w *resp.Writer, args [][]byte) {
	now, save, noSave := false, false, false
	for _, a := range args[1:] {
		now, save, noSave = now || command.IsWord(a, "NOW"), save || command.IsWord(a, "SAVE"), noSave || command.IsWord(a, "NOSAVE")
		if save && noSave || !command.IsWord(a, "SAVE") && !command.IsWord(a, "NOSAVE") && !command.IsWord(a, "NOW") && !command.IsWord(a, "FORCE") {
			w.Error(command.ErrSyntax.Error())
			return
		}
	}
	s.CloseAfterReply()
	s.Server().Shutdown(now, noSave)
}
