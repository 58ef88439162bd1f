package command

// The errors of [CommandErrors]. Other packages return the exported ones.
var (
	errUnknownCommand = CommandErrors.Add("ERR unknown command '%s', with args beginning with: %s",
		"[commands.md](commands.md) lists all commands.")
	errUnknownCommandNear    = CommandErrors.Add("ERR unknown command '%s', with args beginning with: %s(did you mean %s?)", "")
	errUnknownSubcommand     = CommandErrors.Add("ERR unknown subcommand '%s'. Try %s HELP.", "")
	errUnknownSubcommandNear = CommandErrors.Add("ERR unknown subcommand '%s'. Try %s HELP. Did you mean %s %s?", "")
	ErrArity                 = CommandErrors.Add("ERR wrong number of arguments for '%s' command", "")
	errArityUsage            = CommandErrors.Add("ERR wrong number of arguments for '%s' command; usage: %s", "")
	ErrSyntax                = CommandErrors.Add("ERR syntax error", "")
	ErrNotInteger            = CommandErrors.Add("ERR value is not an integer or out of range", "")
)

// The errors of [KeyErrors]. Other packages return the exported ones.
var (
	ErrInvalidCursor = KeyErrors.Add("ERR invalid cursor", "")
	errManyKeys      = KeyErrors.Add("ERR KEYS found more than %d keys, or more than %d bytes: use SCAN", "")
	ErrTooCostly     = KeyErrors.Add("ERR the keys hold too much state for one command: use fewer keys", "")
	ErrExecTooCostly = KeyErrors.Add("ERR the transaction would take too long: nothing was executed, split it",
		"The transaction has hundreds of commands on limits with much state, thousands of commands on large values, many commands that read all keys, or more than four scripts that are new or slow.")
	errListTooLong = KeyErrors.Add("ERR the holders, members or grants listed in one transaction take more than %d bytes: ask for fewer keys at once", "")
	ErrPattern     = KeyErrors.Add("ERR pattern: it takes too many steps to match; use fewer * and shorter [sets]", "")
)

// The errors of [TransactionErrors]. Other packages return the exported ones.
var (
	ErrNestedMulti   = TransactionErrors.Add("ERR MULTI calls can not be nested", "")
	ErrExecNoMulti   = TransactionErrors.Add("ERR EXEC without MULTI", "")
	ErrDiscardNoMult = TransactionErrors.Add("ERR DISCARD without MULTI", "")
	ErrNotInMulti    = TransactionErrors.Add("ERR Command not allowed inside a transaction",
		"`SAVE`, `SUBSCRIBE`, `AUTH`, `MONITOR`, the `RAFT` commands that change the cluster, and some others are not allowed between `MULTI` and `EXEC`. `EXEC` will fail.")
	ErrMultiTooLong = TransactionErrors.Add("ERR too many commands between MULTI and EXEC",
		"There are more than 10,000 commands, or they have more bytes than `--query-buffer-size`. `EXEC` will fail.")
	ErrExecAbort      = TransactionErrors.Add("EXECABORT Transaction discarded because of previous errors.", "")
	ErrWatchInMulti   = TransactionErrors.Add("ERR WATCH inside MULTI is not allowed", "")
	ErrWatchesTooMuch = TransactionErrors.Add("ERR a connection watches at most %d keys, and as many bytes as --query-buffer-size has", "")
	ErrExecTooBig     = TransactionErrors.Add("ERR the commands were carried out, but their replies are more than --output-buffer-size",
		"Split the transaction, or raise `--output-buffer-size`.")
)

// ErrDataType is the error of a command on data whose key holds another kind of data, or a limiter.
var ErrDataType = DataErrors.Add("WRONGTYPE Operation against a key holding the wrong kind of value",
	"The key holds another kind of data, or a limiter. Use another key, or `DEL` this key first.")

// ErrManyWaits is the error of a wait for several keys, when all clients together already wait for many.
var ErrManyWaits = DataErrors.Add("ERR all clients together already wait for %d keys, the maximum: wait for one key at a time", "")
