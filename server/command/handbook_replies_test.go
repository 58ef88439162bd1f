package command

const (
	handbookOK   = "`OK`."
	handbookFive = "five integers: granted, limit, remaining, wait_ms, reset_ms. See [rate-limits.md](rate-limits.md#the-reply)."
	handbookAll  = "an array of granted, binding (the 0-based position of the limit that denied with the longest wait, -1 if granted), wait_ms, " +
		"and an array of limit, remaining and reset_ms for each limit."
)

// handbookReplies says what each command answers when there is no error.
var handbookReplies = map[string]string{
	"cl.throttle": "five integers: limited (0 allowed, 1 limited), limit (max_burst + 1), remaining, retry_after in seconds " +
		"(-1 when allowed, and when the quantity is more than the limit), reset_after in seconds. See [redis-cell.md](redis-cell.md).",
	"tb.acquire": handbookFive,
	"lb.acquire": handbookFive,
	"lb.queue":   handbookFive,
	"fw.acquire": handbookFive,
	"sw.acquire": handbookFive,
	"sl.acquire": handbookFive,
	"cc.acquire": handbookFive,
	"cc.release": "1, or 0 when the holder had no lease.",
	"cc.holders": "an array of holders and the milliseconds their leases have left, in turn.",
	"rl.all":     handbookAll,
	"rl.check":   handbookAll + " In SHADOW granted is always the tokens asked for, and binding tells what would have denied.",

	"rl.policy|set":      handbookOK,
	"rl.policy|get":      "a map of limits, written as SET takes them and quoted as redis-cli does where need be, overrides, granted, denied, shadow_denied and shadow; null when there is no such policy.",
	"rl.policy|del":      "1, or 0 when there was no such policy.",
	"rl.policy|list":     "an array of names.",
	"rl.policy|override": handbookOK,
	"rl.policy|help":     "an array of lines.",

	"rl.info": "a map of algorithm, the parameters of the limit by the names its command gives them, limit, taken, " +
		"remaining and reset_ms; null when nothing is taken.",
	"rl.refund": "the tokens then remaining, an integer, below zero while there is debt; null when nothing was taken.",

	"del":    "how many of the keys had something taken, an integer.",
	"unlink": "how many of the keys had something taken, an integer.",
	"exists": "an integer; a key given twice counts twice.",
	"ttl":    "an integer.",
	"pttl":   "an integer, rounded up.",
	"type": "`gcra`, `token-bucket`, `leaky-bucket`, `leaky-queue`, `fixed-window`, `sliding-window`, `sliding-log` or `concurrency`, " +
		"or `none` for a key as good as new.",
	"scan":      "two elements: the cursor to go on with, `0` at the end, and an array of keys. COUNT is 10 unless given, at most 100000.",
	"keys":      "an array of keys; an error when more than 100000 match.",
	"randomkey": "a key, or null when there is none.",
	"dbsize":    "an integer; keys that have become as good as new count until they are dropped.",
	"flushdb":   handbookOK,
	"flushall":  handbookOK,

	"multi":   handbookOK + " Every command until EXEC is then answered `QUEUED`.",
	"exec":    "an array of one reply for each queued command, errors among them; an error when a command could not be queued.",
	"discard": handbookOK,

	"ping":      "`PONG`, or the message.",
	"echo":      "the message.",
	"hello":     "a map of server, version, proto, id, mode, role and modules.",
	"auth":      handbookOK + " After failed logins from the same address it may come late. See [security.md](security.md).",
	"select":    handbookOK,
	"quit":      handbookOK + " Then the connection is closed.",
	"reset":     "`RESET`, in RESP2.",
	"readonly":  handbookOK,
	"readwrite": handbookOK,
	"time":      "two strings of digits: Unix seconds, and microseconds within the second.",

	"client|id":       "an integer.",
	"client|getname":  "the name, or null when there is none.",
	"client|setname":  handbookOK,
	"client|setinfo":  handbookOK,
	"client|info":     "text, one line of names and values.",
	"client|list":     "text, one line for each connection.",
	"client|kill":     "`OK` when given an address alone; with filters, how many connections were closed, an integer.",
	"client|no-evict": handbookOK,
	"client|no-touch": handbookOK,
	"client|reply":    "`OK` to ON; nothing to OFF and SKIP.",
	"client|tracking": handbookOK,
	"client|caching":  handbookOK,
	"client|help":     "an array of lines.",

	"acl|cat":     "an array of names.",
	"acl|deluser": "how many there were, an integer.",
	"acl|genpass": "hexadecimal digits.",
	"acl|getuser": "a map of flags, passwords (their hashes), commands, keys, channels, selectors, max-keys and max-rate; null when there is no such user.",
	"acl|list":    "an array of lines.",
	"acl|load":    handbookOK,
	"acl|log":     "an array of maps of count, reason, context, object, username, age-seconds, client-info, entry-id, timestamp-created and timestamp-last-updated, the latest first; `OK` to RESET.",
	"acl|save":    handbookOK,
	"acl|setuser": handbookOK,
	"acl|users":   "an array of names.",
	"acl|whoami":  "a name.",
	"acl|help":    "an array of lines.",

	"info": "text, lines of names and values under headings. `# Policies` has a line for each policy: " +
		"`policy_<name>:shadow=0,granted=…,denied=…,shadow_denied=…`; names of more than letters, digits and `_ . -` are quoted.",
	"config|get":       "a map of names and values.",
	"config|set":       handbookOK,
	"config|rewrite":   handbookOK,
	"config|resetstat": handbookOK,
	"config|help":      "an array of lines.",
	"memory|usage":     "an integer; null when nothing is taken.",
	"memory|stats":     "a map of keys.count, keys.bytes and keys.bytes-per-key.",
	"memory|help":      "an array of lines.",
	"save":             handbookOK + " It comes when the snapshot is complete.",
	"bgsave":           "`Background saving started`.",
	"lastsave":         "an integer.",
	"role":             "`master`, 0 and an empty array.",
	"wait":             "0.",
	"shutdown":         "none: the connection is closed.",
	"cluster":          "always an error.",

	"command":         "an array with an array for each command: name, arity, flags, first key, last key, step, categories and more.",
	"command|count":   "an integer.",
	"command|info":    "as COMMAND, for the commands named; null for one that does not exist.",
	"command|docs":    "a map of commands to maps of summary, since, group and arguments.",
	"command|list":    "an array of names. The filter is PATTERN with a glob pattern, ACLCAT with a category, or MODULE.",
	"command|getkeys": "an array of keys.",
	"command|help":    "an array of lines.",
}
