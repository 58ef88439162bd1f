package command

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

var serverRows = []Row{{
	Name: "info", Syntax: "[section ...]", Group: "server", Summary: "Report the state of the server, in sections.",
	Returns: "text: lines of names and values under section headings. `# Policies` has a line for each policy: `policy_<name>:shadow=0,granted=…,denied=…,shadow_denied=…`, the checks that this node answered since it started; names with other characters than letters, digits and `_ . -` are quoted.",
	Cost:    Information, Flags: Dangerous, Run: runInfo,
}, {
	Name: "config", Syntax: "subcommand", Group: "server", Summary: "Read and change settings.",
	Sub: []Row{
		{Name: "get", Syntax: "pattern ...", Group: "server", Summary: "The settings whose names match the patterns.",
			Returns: "a map of names and values.", Example: "*",
			Cost: Report, Flags: Admin | Dangerous, Run: runConfigGet},
		{Name: "set", Syntax: "name value ...", Group: "server", Summary: "Change settings, all or none.",
			Returns: "`OK`.", Example: "requirepass x",
			Cost: Information, Flags: Admin | Dangerous, Run: runConfigSet},
		{Name: "rewrite", Group: "server", Summary: "Write the settings in force to the configuration file.",
			Returns: "`OK`.",
			Cost:    Information, Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().ConfigRewrite()) }},
		{Name: "resetstat", Group: "server", Summary: "Set the counters of INFO to zero.",
			Returns: "`OK`.",
			Cost:    Report, Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Server().ResetStats(); w.Status("OK") }},
	},
}, {
	Name: "module", Group: "server", Summary: "Modules: Stint has none.",
	Sub: []Row{{
		Name: "list", Group: "server", Summary: "The modules that are loaded: none. Programs that show a server's data ask.",
		Returns: "an empty array.",
		Cost:    Light, Flags: Harmless, Run: func(_ Session, w *resp.Writer, _ [][]byte) { w.Array(0) },
	}},
}, {
	Name: "save", Group: "server", Summary: "Write a snapshot and wait until it is complete. Other connections are not blocked.",
	Returns: "`OK`. Sent when the snapshot is complete.",
	Cost:    Light, Flags: Admin | Dangerous | NotInMulti, Run: runSave,
}, {
	Name: "bgsave", Syntax: "[SCHEDULE]", Group: "server", Summary: "Start a snapshot in the background.",
	Returns: "`Background saving started`.",
	Cost:    Light, Flags: Admin | Dangerous, Run: runBackgroundSave,
}, {
	Name: "lastsave", Group: "server", Summary: "Unix time in seconds of the last complete snapshot; without one, when the server started.",
	Returns: "an integer.",
	Cost:    Light, Flags: Fast | Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Int(s.Server().LastSave()) },
}, {
	Name: "role", Group: "server", Summary: "The replication role: master for a standalone server and a cluster's leader, slave for other nodes.",
	Returns: "on a standalone server `master`, 0 and an empty array. On the leader of a cluster `master`, the index of the last committed log entry, and for each follower that is up its host, port and applied index. On another node `slave`, the leader's host and port, `connected` or `connect`, and its applied index.",
	Cost:    Light, Flags: Admin | Fast | Dangerous, Run: runRole,
}, {
	Name: "wait", Syntax: "numreplicas timeout", Group: "generic",
	Summary: "Wait until numreplicas other nodes have acknowledged all earlier writes, at most timeout ms; 0 is without a bound.",
	Returns: "the number of other nodes that have acknowledged, an integer; 0 on a standalone server. Within EXEC it does not wait and returns the number known for certain, half of the voters.",
	Example: "0 0",
	Cost:    Light, Flags: Blocking | Connection, Run: runWait,
}, {
	Name: "shutdown", Syntax: "[NOSAVE | SAVE] [NOW] [FORCE]", Group: "server",
	Summary: "Reply to the requests already read, close every connection, and exit. NOW does not wait for clients to read their replies; NOSAVE skips the final snapshot.",
	Returns: "no reply; the server closes the connection.", Example: "NOW",
	Cost: Light, Flags: Admin | Dangerous | NotInMulti, Run: runShutdown,
}}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

func runInfo(s Session, w *resp.Writer, args [][]byte) {
	var sections []string
	for _, a := range args[1:] {
		sections = append(sections, strings.ToLower(string(a)))
	}
	w.Verbatim(s.Server().Info(sections))
}

func texts(args [][]byte) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

func runConfigGet(s Session, w *resp.Writer, args [][]byte) {
	pairs := s.Server().ConfigGet(texts(args[2:]))
	w.Map(len(pairs) / 2)
	for _, p := range pairs {
		w.BulkString(p)
	}
}

func runConfigSet(s Session, w *resp.Writer, args [][]byte) {
	if len(args)%2 != 0 {
		w.Error(wrongArity(byName["config"].subcommand([]byte("set"))).Error())
		return
	}
	okOrError(w, s.Server().ConfigSet(texts(args[2:])))
}

func runSave(s Session, w *resp.Writer, _ [][]byte) {
	s.Await(func(done func(error)) {
		if err := s.Server().Save(done); err != nil {
			done(err)
		}
	})
}

func runBackgroundSave(s Session, w *resp.Writer, args [][]byte) {
	if len(args) > 1 && (len(args) > 2 || !isWord(args[1], "SCHEDULE")) {
		w.Error(ErrSyntax.Error())
		return
	}
	if err := s.Server().SaveAlone(); err != nil {
		w.Error(err.Error())
		return
	}
	w.Status("Background saving started")
}

func runShutdown(s Session, w *resp.Writer, args [][]byte) {
	now, save, noSave := false, false, false
	for _, a := range args[1:] {
		now, save, noSave = now || isWord(a, "NOW"), save || isWord(a, "SAVE"), noSave || isWord(a, "NOSAVE")
		if save && noSave || !isWord(a, "SAVE") && !isWord(a, "NOSAVE") && !isWord(a, "NOW") && !isWord(a, "FORCE") {
			w.Error(ErrSyntax.Error())
			return
		}
	}
	s.CloseAfterReply()
	s.Server().Shutdown(now, noSave)
}
