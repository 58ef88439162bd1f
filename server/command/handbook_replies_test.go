package command

const (
	handbookNoLeader = "An error while no leader is known."
	handbookOK       = "`OK`."
	handbookFive     = "five integers: granted, limit, remaining, wait_ms, reset_ms. See [rate-limits.md](rate-limits.md#the-reply)."
	handbookAll      = "an array of granted, binding (the 0-based position of the limit that denied with the longest wait, -1 if granted), wait_ms, " +
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

	"rl.top": "an array with an array for each key: key, denied, error. At high rates only some denials are looked at, and each stands for several; the error then covers that in all but 3 of 1000 cases.",

	"slowlog|get":       "an array with an array for each: number, Unix seconds, microseconds, arguments, address, client name. Commands of a pipeline are decided together, and are shown by the first.",
	"slowlog|len":       "an integer.",
	"slowlog|reset":     handbookOK,
	"slowlog|help":      "an array of lines.",
	"latency|latest":    "an array with an array for each event: event, Unix seconds, milliseconds, longest milliseconds. Events are `command`, `event-loop` and `expire-cycle`.",
	"latency|history":   "an array of Unix seconds and milliseconds.",
	"latency|graph":     "text; an error when there is nothing of the event to draw.",
	"latency|reset":     "of how many events.",
	"latency|histogram": "a map of commands to maps of calls and histogram_usec, which maps microseconds to how many calls took at most that long.",
	"latency|doctor":    "text.",
	"latency|help":      "an array of lines.",
	"monitor":           handbookOK + " Then a line for each command: Unix time, database and address, words. Operators' commands and those with passwords are not shown.",

	"rl.policy|set":      handbookOK,
	"rl.policy|get":      "a map of limits, written as SET takes them and quoted as redis-cli does where need be, overrides, granted, denied, shadow_denied and shadow; null when there is no such policy, or the user may not look at its keys.",
	"rl.policy|del":      "1, or 0 when there was no such policy.",
	"rl.policy|list":     "an array of names: of the policies whose keys the user may look at.",
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
	"client|info":     "text, one line of names and values, which are Redis's. Of buffers and traffic (`qbuf`, `qbuf-free`, `multi`, `multi-mem`, `obl`, `omem`, `tot-mem`, `tot-net-in`, `tot-net-out`) it tells how they were when the connection was last served. There is no `fd`; what a connection cannot have here is 0 (`sub`, `psub`, `ssub`, `watch`, `argv-mem`, `rbs`, `rbp`, `oll`).",
	"client|list":     "text, one line for each connection, as of `CLIENT INFO`.",
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
	"config|get":          "a map of names and values.",
	"config|set":          handbookOK,
	"config|rewrite":      handbookOK,
	"config|resetstat":    handbookOK,
	"config|help":         "an array of lines.",
	"memory|usage":        "an integer; null when nothing is taken.",
	"memory|stats":        "a map of names and bytes, percentages and ratios, under Redis's names where it has one: the dataset are the keys, overhead is everything else.",
	"memory|malloc-stats": "text.",
	"memory|doctor":       "text.",
	"memory|purge":        handbookOK,
	"memory|help":         "an array of lines.",
	"save":                handbookOK + " It comes when the snapshot is complete.",
	"bgsave":              "`Background saving started`.",
	"lastsave":            "an integer.",
	"role": "alone `master`, 0 and an empty array. On the leader of a cluster `master`, the index of the last committed log entry, and for each follower " +
		"that is up its host, port and applied index. On another node `slave`, the leader's host and port, `connected` or `connect`, and its applied index.",
	"wait":     "how many other nodes have all that this node answered, an integer: 0 alone. Within EXEC it does not wait and tells what is certain, half of the voters.",
	"shutdown": "none: the connection is closed.",

	"cluster|slots": "an array of one array: 0, 16383, and for the leader and then each other node that is up an array of host, port, id and an empty map. " + handbookNoLeader,
	"cluster|shards": "an array of one map of slots and nodes, each a map of id, ip, endpoint, role, health, port and replication-offset, the applied index. " +
		handbookNoLeader,
	"cluster|nodes":     "text, a line for each node as Redis Cluster writes it, with times in Unix milliseconds and the term as the epoch.",
	"cluster|replicas":  "an array of such lines.",
	"cluster|info":      "text, lines of names and values. `cluster_state` is `fail` while no leader is known.",
	"cluster|myid":      "40 hexadecimal digits, made from --node-id.",
	"cluster|myshardid": "40 hexadecimal digits.",
	"cluster|keyslot":   "an integer from 0 to 16383. Answered without a cluster too.",
	"cluster|help":      "an array of lines.",

	"raft|info": "a map of cluster_id, node_id, state (`starting`, `follower`, `candidate`, `leader` or `gone`), term, leader_id, leader_addr, leader_client_addr, " +
		"last_contact_ms, last_log_index, commit_index, applied_index, last_snapshot_index, log_bytes, disk_stalled and cluster_time_usec.",
	"raft|nodes":    "an array with a map for each node of id, addr, client_addr, role (`leader`, `follower` or `nonvoter`), reachable, applied_index and last_contact_ms.",
	"raft|add":      handbookOK + " It comes when a majority knows the new member.",
	"raft|remove":   handbookOK + " It comes when a majority knows.",
	"raft|transfer": handbookOK + " It comes when the other node is the leader.",
	"raft|snapshot": handbookOK + " It comes when the snapshot is complete.",
	"raft|help":     "an array of lines.",

	"command":         "an array with an array for each command: name, arity, flags, first key, last key, step, categories and more.",
	"command|count":   "an integer.",
	"command|info":    "as COMMAND, for the commands named; null for one that does not exist.",
	"command|docs":    "a map of commands to maps of summary, since, group and arguments.",
	"command|list":    "an array of names. The filter is PATTERN with a glob pattern, ACLCAT with a category, or MODULE.",
	"command|getkeys": "an array of keys.",
	"command|help":    "an array of lines.",
}
