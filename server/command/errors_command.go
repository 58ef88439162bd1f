package command

import "github.com/stintdb/stint/server/resp"

var commandErrors = resp.ErrorSection{Heading: "Every command"}

// The errors of this section. Other packages return the exported ones.
var (
	errUnknownCommand = commandErrors.Add("ERR unknown command '%s', with args beginning with: %s",
		"[commands.md](commands.md) lists all commands.")
	errUnknownCommandNear = commandErrors.Add("ERR unknown command '%s', with args beginning with: %s(did you mean %s?)",
		"The same, and one command has a similar name.")
	errUnknownSubcommand = commandErrors.Add("ERR unknown subcommand '%s'. Try %s HELP.",
		"")
	errUnknownSubcommandNear = commandErrors.Add("ERR unknown subcommand '%s'. Try %s HELP. Did you mean %s %s?",
		"")
	errArity = commandErrors.Add("ERR wrong number of arguments for '%s' command",
		"")
	errArityUsage = commandErrors.Add("ERR wrong number of arguments for '%s' command; usage: %s",
		"")
	errSubcommand = commandErrors.Add("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.",
		"")
	ErrSyntax = commandErrors.Add("ERR syntax error",
		"")
	ErrNotInteger = commandErrors.Add("ERR value is not an integer or out of range",
		"")
)

var keyErrors = resp.ErrorSection{Heading: "Keys"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrInvalidCursor = keyErrors.Add("ERR invalid cursor",
		"Start `SCAN` with cursor 0 and continue with the cursor it returned.")
	errManyKeys = keyErrors.Add("ERR KEYS found more than %d keys, or more than %d bytes: use SCAN",
		"")
	errKeysInMulti = keyErrors.Add("ERR KEYS in a transaction looks through at most %d keys, and there are more: use SCAN, or KEYS by itself",
		"")
	ErrTooCostly = keyErrors.Add("ERR the keys hold too much state for one command: use fewer keys",
		"")
	ErrExecTooCostly = keyErrors.Add("ERR the transaction would take too long: nothing was executed, split it",
		"`EXEC` with hundreds of commands on such limits, with many commands that read all keys, or with more than four scripts that did not run before or take long.")
	errListTooLong = keyErrors.Add("ERR the holders, members or grants listed in one transaction take more than %d bytes: ask for fewer keys at once",
		"`CC.HOLDERS` or `SL.LOG` between `MULTI` and `EXEC`, more often than one reply may hold.")
	errPattern = keyErrors.Add("ERR pattern: it takes too many steps to match; use fewer * and shorter [sets]",
		"")
)

var transactionErrors = resp.ErrorSection{Heading: "Transactions"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrNestedMulti = transactionErrors.Add("ERR MULTI calls can not be nested",
		"`MULTI` after `MULTI`. The transaction stays open.")
	ErrExecNoMulti = transactionErrors.Add("ERR EXEC without MULTI",
		"No transaction is open: the connection is new, or the transaction has ended.")
	ErrDiscardNoMult = transactionErrors.Add("ERR DISCARD without MULTI",
		"")
	ErrNotInMulti = transactionErrors.Add("ERR Command not allowed inside a transaction",
		"`SAVE`, `SHUTDOWN`, `SUBSCRIBE`, `UNSUBSCRIBE`, `HELLO`, `AUTH`, `CLIENT REPLY`, `CLIENT TRACKING`, `MONITOR` and changes by `RAFT` are not allowed between `MULTI` and `EXEC`; `BGSAVE` is. `EXEC` will fail.")
	ErrMultiTooLong = transactionErrors.Add("ERR too many commands between MULTI and EXEC",
		"More than 10,000 commands, or more bytes of them than `--query-buffer-size`. `EXEC` will fail.")
	ErrExecAbort = transactionErrors.Add("EXECABORT Transaction discarded because of previous errors.",
		"Queueing one of the commands failed. None was executed.")
	ErrExecTooBig = transactionErrors.Add("ERR the commands were carried out, but their replies are more than --output-buffer-size",
		"Replaces the replies of an `EXEC`. Split the transaction, or raise `--output-buffer-size`.")
)
