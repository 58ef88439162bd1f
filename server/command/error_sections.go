package command

import "github.com/stintdb/stint/server/resp"

// The sections of docs/errors.md. Each package of commands adds its errors to them.
var (
	DataErrors        = resp.ErrorSection{Heading: "Redis data and scripts", Before: "These errors have the same texts as in Redis 7.0, except for errors about bounds that only Stint has. If a command fails in a script, the script's digest and line follow the text.\n"}
	CommandErrors     = resp.ErrorSection{Heading: "Every command"}
	KeyErrors         = resp.ErrorSection{Heading: "Keys"}
	TransactionErrors = resp.ErrorSection{Heading: "Transactions"}
	ConnectionErrors  = resp.ErrorSection{Heading: "The connection"}
	UserErrors        = resp.ErrorSection{Heading: "Users and their rights", Before: "[security.md](security.md) explains users and rights.\n"}
	LimiterErrors     = resp.ErrorSection{Heading: "Limiters"}
	PolicyErrors      = resp.ErrorSection{Heading: "Several limits, and policies", After: "Examples of an argument out of range, a malformed argument, and an unknown option:\n" +
		"\n" +
		"```redis\n" +
		"> TB.ACQUIRE k ten 1/m\n" +
		"(error) ERR capacity: must be an integer between 1 and 1000000000000, got 'ten'\n" +
		"> TB.ACQUIRE k 10 1/fortnight\n" +
		"(error) ERR rate: must be a rate such as 100, 0.035, 1000/60, 1000/m, 5/500ms or '10 per second'; units: ms (millisecond), s (sec, second), m (min, minute), h (hour), d (day), got '1/fortnight'\n" +
		"> TB.ACQUIRE k 10 1/m 1 SOON\n" +
		"(error) ERR syntax error: TB.ACQUIRE does not take 'SOON' here; it takes …\n" +
		"```\n"}
	ServerErrors  = resp.ErrorSection{Heading: "The server"}
	ClusterErrors = resp.ErrorSection{Heading: "The cluster", Before: "Only a node of a [cluster](cluster.md), or a server with a [home cluster](regions.md), sends these errors. A command with\n" +
		"several keys, or a transaction, gets one error for the whole request.\n"}
)
