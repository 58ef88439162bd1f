package command

import "github.com/stintdb/stint/server/resp"

var serverErrors = resp.ErrorSection{Heading: "The server"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrUnknownSetting = serverErrors.Add("ERR Unknown option or number of arguments for CONFIG SET - '%s'",
		"No setting has this name. [configuration.md](configuration.md) lists them.")
	ErrFixedSetting = serverErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - can't be changed while the server runs; start it with --%s",
		"The setting is fixed at start. Nothing was changed, including the other settings of the command.")
	ErrSettingTwice = serverErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - duplicate parameter",
		"The command has the setting twice, perhaps once under the name that Redis has for it. Nothing was changed.")
	ErrSettingValue = serverErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - %w",
		"The value is not allowed; the rest lists the allowed values. Nothing was changed.")
	ErrSettingsConflict = serverErrors.Add("ERR CONFIG SET failed - %w",
		"Two settings would contradict each other. Nothing was changed.")
	ErrFewDescriptors = serverErrors.Add("ERR CONFIG SET failed (possibly related to argument 'max-clients') - the limit of open files leaves room for %d clients; raise that limit",
		"Raise the limit of [file descriptors](operations.md#file-descriptors) (`ulimit -n`, `LimitNOFILE`) and restart.")
	ErrNoConfigFile = serverErrors.Add("ERR The server is running without a config file",
		"`CONFIG REWRITE` writes to the file of `--config`.")
	ErrConfigRewrite = serverErrors.Add("ERR Rewriting config file: %w",
		"")
	ErrNoDir = serverErrors.Add("ERR this server keeps nothing on disk: start it with --dir",
		"")
	ErrSaveBusy = serverErrors.Add("ERR Background save already in progress",
		"The answer to `BGSAVE` while a snapshot is being written. `SAVE` waits and writes another one.")
	ErrSaveFailed = serverErrors.Add("ERR the snapshot could not be written: %w",
		"")
	ErrClusterOff = serverErrors.Add("ERR This instance has cluster support disabled",
		"A `CLUSTER` command to a standalone server. Use a client for a single node.")
	errGetKeysCommand = serverErrors.Add("ERR Invalid command specified",
		"")
	errGetKeysArguments = serverErrors.Add("ERR Invalid arguments specified for command",
		"")
	errGetKeysArity = serverErrors.Add("ERR Invalid number of arguments specified for command",
		"")
	errGetKeysNone = serverErrors.Add("ERR The command has no key arguments",
		"")
)

var clusterErrors = resp.ErrorSection{Heading: "The cluster", Before: "Only a node of a [cluster](cluster.md) sends these. A command over several keys, and a transaction, gets one of them for\n" +
	"all of it.\n"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrUncertain = clusterErrors.Add("UNCERTAIN the cluster did not finish this request: it may have been executed; treat the tokens as taken and do not retry blindly",
		"The leader died, or lost its majority, between proposing and committing. `RL.INFO` shows whether tokens were taken. A retry may take the tokens twice; [with an id](rate-limits.md#reserve-then-settle) it does not.")
	ErrNoLeader = clusterErrors.Add("CLUSTERDOWN no leader answered within --decide-timeout: nothing was taken",
		"An election is in progress, or no majority of nodes is connected. Retrying is safe.")
	ErrImporting = clusterErrors.Add("LOADING the cluster does not have the whole state yet that --cluster-import brings: nothing was taken, try again; if no node brings it, start one with that file",
		"A new cluster that begins with [a backup](cluster.md#backup). Retrying is safe.")
	ErrOverloaded = clusterErrors.Add("BUSY too many operations are waiting for a decision: nothing was taken, try again shortly",
		"Requests arrive faster than the nodes can decide. Retrying after a pause is safe.")
	errCallTooBig = clusterErrors.Add("ERR a command or transaction of more than 32 MiB does not fit the cluster's log: nothing was taken; send fewer limits, or shorter keys, at a time",
		"It would not fit one entry of the log. Possible only with a large `--query-buffer-size`. Another node than the leader also answers this to reads whose replies are more than 64 MiB.")
	errUnreadable = clusterErrors.Add("ERR the cluster cannot keep a command with these values: nothing was taken; start all nodes with the same version of Stint, and report the command if they are",
		"")
	ErrTooNew = clusterErrors.Add("ERR a member of the cluster is too old: %w",
		"During a [rolling upgrade](operations.md#upgrading-a-cluster): the command is newer than Stint on the named member. Nothing was taken. Upgrade that member.")
	ErrNoHome = clusterErrors.Add("UPSTREAM the home of this key's limit did not decide, and too few of its tokens are here: nothing was taken",
		"A server with [`--upstream`](regions.md), while home is unreachable or answers with an error. `INFO upstream` shows the last one. Retrying is safe.")
	errAwayFromHome = clusterErrors.Add("ERR the limit of this key has its home in another cluster: use TB.ACQUIRE, LB.ACQUIRE, FW.ACQUIRE or CL.THROTTLE alone, with no options but PEEK and UPTO, or ask home; nothing was taken",
		"A server with [`--upstream`](regions.md): a key of the command, a declared key, or a key of a policy may match `--upstream-keys`.")
	ErrCrossSlot = clusterErrors.Add("CROSSSLOT Keys in request don't hash to the same slot; give keys that belong together one hash tag, as in {user1}:a and {user1}:b: nothing was taken",
		"A cluster with [`--groups`](cluster.md#groups): a command, a script or a transaction has keys of several groups. The id of a reservation is one of the keys.")
	errNotShared = clusterErrors.Add("CROSSSLOT a shared limit must be TB, CL, LB or FW without HISTORY, and the request without KEEP, MAXWAIT and BLOCK; otherwise give its keys one hash tag, as in {user1}:a and {user1}:b: nothing was taken",
		"A limit of a key that matches [`--cluster-shared`](cluster.md#groups).")
	errMoved = clusterErrors.Add("MOVED %d %s",
		"With `--redirect moved`, from a node that is not the leader: nothing was taken. The slot of the first key, and the leader's address. Clients for Redis Cluster follow it automatically.")
	ErrNoCluster = clusterErrors.Add("ERR this server is not a node of a cluster: start it with --cluster-listen",
		"")
	errRaft = clusterErrors.Add("ERR %w",
		"The reply to a `RAFT` command that was rejected: the reason, and the remedy. For example, the last voter cannot be removed.")
	errGroupsForming = clusterErrors.Add("ERR the groups of keys have not begun yet: ask again in a moment",
		"The cluster with `--groups` forms.")
	errNotTracked = clusterErrors.Add("ERR nodes of a cluster with cluster-replicas do not see every key change: keep no copies of keys here",
		"`CLIENT TRACKING ON` in a cluster with [`--cluster-replicas`](cluster.md#groups).")
	errUnknownNode = clusterErrors.Add("ERR Unknown node %s",
		"")
	errNotMaster = clusterErrors.Add("ERR The specified node is not a master",
		"")
)
