package command

import (
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

var serverRows = []Row{{
	Name: "info", Syntax: "[section ...]", Since: "0.1.0", Group: "server", Summary: "The state of the server, in sections.",
	Flags: Dangerous, Run: runInfo,
}, {
	Name: "config", Syntax: "subcommand", Since: "0.1.0", Group: "server", Summary: "Commands about settings.",
	Sub: []Row{
		{Name: "get", Syntax: "pattern ...", Since: "0.1.0", Group: "server", Summary: "Settings whose names match.",
			Flags: Admin | Dangerous, Run: runConfigGet},
		{Name: "set", Syntax: "name value ...", Since: "0.1.0", Group: "server", Summary: "Change settings, all or none.",
			Flags: Admin | Dangerous, Run: runConfigSet},
		{Name: "rewrite", Since: "0.1.0", Group: "server", Summary: "Write the settings in force to the configuration file.",
			Flags: Admin | Dangerous,
			Run:   func(s Session, w *resp.Writer, _ [][]byte) { okOrError(w, s.Server().ConfigRewrite()) }},
		{Name: "resetstat", Since: "0.1.0", Group: "server", Summary: "Set the counters of INFO to zero.",
			Flags: Admin | Dangerous,
			Run:   func(s Session, w *resp.Writer, _ [][]byte) { s.Server().ResetStats(); w.Status("OK") }},
		helpRow("config"),
	},
}, {
	Name: "save", Since: "0.1.0", Group: "server", Summary: "Write a snapshot, and answer when it is complete. Other connections go on.",
	Flags: Admin | Dangerous | NotInMulti, Run: runSave,
}, {
	Name: "bgsave", Syntax: "[SCHEDULE]", Since: "0.1.0", Group: "server", Summary: "Start to write a snapshot.",
	Flags: Admin | Dangerous, Run: runBackgroundSave,
}, {
	Name: "lastsave", Since: "0.1.0", Group: "server", Summary: "When the last snapshot was complete, or else the server started, in Unix seconds.",
	Flags: Fast | Admin | Dangerous, Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Int(s.Server().LastSave()) },
}, {
	Name: "role", Since: "0.1.0", Group: "server", Summary: "The role in replication: master alone and as a cluster's leader, slave as another node.",
	Flags: Admin | Fast, Run: runRole,
}, {
	Name: "wait", Syntax: "numreplicas timeout", Since: "0.1.0", Group: "generic",
	Summary: "How many other nodes of the cluster have what was written: waits for numreplicas of them, at most timeout ms, 0 for no bound.", Flags: Blocking | Connection, Run: runWait,
}, {
	Name: "shutdown", Syntax: "[NOSAVE | SAVE] [NOW] [FORCE]", Since: "0.1.0", Group: "server",
	Summary: "Answer what was read, close every connection, and end. NOW does not wait for clients to read their replies; NOSAVE writes no last snapshot.", Flags: Admin | Dangerous | NotInMulti, Run: runShutdown,
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
	now, noSave := false, false
	for _, a := range args[1:] {
		if !isWord(a, "SAVE") && !isWord(a, "NOSAVE") && !isWord(a, "NOW") && !isWord(a, "FORCE") {
			w.Error(ErrSyntax.Error())
			return
		}
		now, noSave = now || isWord(a, "NOW"), noSave || isWord(a, "NOSAVE")
	}
	s.CloseAfterReply()
	s.Server().Shutdown(now, noSave)
}
