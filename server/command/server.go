package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
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
	Name: "memory", Syntax: "subcommand", Since: "0.1.0", Group: "server", Summary: "Commands about memory.",
	Sub: []Row{
		{Name: "usage", Syntax: "key [SAMPLES count]", Since: "0.1.0", Group: "server", Summary: "Bytes a key takes.",
			Flags: ReadOnly, Keys: Keys{2, 2, 1}, Parse: parseMemoryUsage, Reply: replyMemoryUsage},
		{Name: "stats", Since: "0.1.0", Group: "server", Summary: "Where memory goes.", Flags: ReadOnly, Run: runMemoryStats},
		{Name: "doctor", Since: "0.1.0", Group: "server", Summary: "What there is to say about memory, in words.", Flags: ReadOnly, Run: runMemoryDoctor},
		{Name: "purge", Since: "0.1.0", Group: "server", Summary: "Give memory that is not in use back to the system.", Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Server().Observer().ReleaseMemory(); w.Status("OK") }},
		helpRow("memory"),
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

func parseMemoryUsage(r *Request) error {
	if n := len(r.Args); n != 3 && (n != 5 || !isWord(r.Args[3], "SAMPLES")) {
		return ErrSyntax
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Look, Key: r.Args[2]})
	return r.key(r.Args[2])
}

func replyMemoryUsage(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Null()
		return
	}
	w.Int(results[0].Bytes)
}

func runMemoryStats(s Session, w *resp.Writer, _ [][]byte) {
	keys, parts := s.Server().Keys(), s.Server().Observer().Memory()
	count, bytes := int64(keys.Len()), keys.Bytes()
	parts = append([]MemoryPart{{"keys.count", count}, {"keys.bytes", bytes}, {"keys.bytes-per-key", bytes / max(count, 1)}}, parts...)
	w.Map(len(parts))
	for _, p := range parts {
		w.BulkString(p.Name)
		w.Int(p.Bytes)
	}
}

func runMemoryDoctor(s Session, w *resp.Writer, _ [][]byte) {
	of := map[string]int64{}
	for _, p := range s.Server().Observer().Memory() {
		of[p.Name] = p.Bytes
	}
	const mb = 1 << 20
	bytes, limit := s.Server().Keys().Bytes(), of["keys.limit-bytes"]
	var out strings.Builder
	fmt.Fprintf(&out, "%d keys take %d MB of %d MB resident.\n", s.Server().Keys().Len(), bytes/mb, of["resident.bytes"]/mb)
	switch {
	case limit == 0:
		out.WriteString("There is no bound on the memory of keys: set max-memory, so that a flood of new keys cannot take all the machine has.\n")
	case bytes > limit-limit/10:
		fmt.Fprintf(&out, "That is over 90 %% of max-memory (%d MB): raise it, or find out which keys are so many with SCAN.\n", limit/mb)
	}
	if idle := of["heap.idle-bytes"]; idle > 64*mb {
		fmt.Fprintf(&out, "%d MB are not in use at the moment: MEMORY PURGE gives them back to the system.\n", idle/mb)
	}
	if buffers := of["clients.buffers"]; buffers > 64*mb {
		fmt.Fprintf(&out, "%d MB are replies that clients have not read and commands they have not finished: CLIENT LIST shows who.\n", buffers/mb)
	}
	w.Verbatim(out.String())
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
