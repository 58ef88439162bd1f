package command

// The errors of [ServerErrors]. Other packages return the exported ones.
var (
	ErrUnknownSetting   = ServerErrors.Add("ERR Unknown option or number of arguments for CONFIG SET - '%s'", "")
	ErrFixedSetting     = ServerErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - can't be changed while the server runs; start it with --%s", "")
	ErrSettingTwice     = ServerErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - duplicate parameter", "")
	ErrSettingValue     = ServerErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - %w", "")
	ErrSettingConstant  = ServerErrors.Add("ERR CONFIG SET failed (possibly related to argument '%s') - has only the value '%s' here, got '%s'", "")
	ErrSettingsConflict = ServerErrors.Add("ERR CONFIG SET failed - %w", "")
	ErrFewDescriptors   = ServerErrors.Add("ERR CONFIG SET failed (possibly related to argument 'max-clients') - the limit of open files leaves room for %d clients; raise that limit", "")
	ErrNoConfigFile     = ServerErrors.Add("ERR The server is running without a config file", "")
	ErrConfigRewrite    = ServerErrors.Add("ERR Rewriting config file: %w", "")
	ErrNoDir            = ServerErrors.Add("ERR this server keeps nothing on disk: start it with --dir", "")
	ErrSaveBusy         = ServerErrors.Add("ERR Background save already in progress", "")
	ErrSaveFailed       = ServerErrors.Add("ERR the snapshot could not be written: %w", "")
	ErrClusterOff       = ServerErrors.Add("ERR This instance has cluster support disabled",
		"A client for Redis Cluster asked a standalone server. Use a client for a single node.")
)

// The errors of [ClusterErrors]. Other packages return the exported ones.
var (
	ErrUncertain = ClusterErrors.Add("UNCERTAIN the cluster did not finish this request: it may have been executed; treat the tokens as taken and do not retry blindly",
		"The leader was lost before it knew whether a majority had stored the request. A retry may take the tokens twice; [with an id](rate-limits.md#reserve-then-settle) it does not.")
	ErrNoLeader = ClusterErrors.Add("CLUSTERDOWN no leader answered within --decide-timeout: nothing was taken",
		"An election is in progress, or no majority is connected. Retrying is safe.")
	ErrImporting = ClusterErrors.Add("LOADING the cluster does not have the whole state of --cluster-import yet: nothing was taken, try again; if no node brings it, start one with that file",
		"The cluster is new, and has not loaded [its backup](cluster.md#backup) yet. Retrying is safe.")
	ErrOverloaded = ClusterErrors.Add("BUSY too many operations are waiting for a decision: nothing was taken, try again shortly",
		"The server is overloaded. Retrying after a pause is safe.")
	errCallTooBig = ClusterErrors.Add("ERR a command or transaction of more than 32 MiB does not fit the cluster's log: nothing was taken; send fewer limits, or shorter keys, at a time",
		"A node that is not the leader also returns this for reads whose replies are more than 64 MiB.")
	errUnreadable = ClusterErrors.Add("ERR the cluster cannot keep a command with these values: nothing was taken; start all nodes with the same version of Stint, and report the command if they are",
		"")
	ErrTooNew = ClusterErrors.Add("ERR a member of the cluster is too old: %w",
		"During a [rolling upgrade](operations.md#upgrading-a-cluster), the member that the error names does not know the command yet. Upgrade that member.")
	ErrNoHome = ClusterErrors.Add("UPSTREAM the home cluster of this key's limit did not decide, and this server holds too few of its tokens: nothing was taken",
		"The home cluster of this server ([`--upstream`](regions.md)) is unreachable or replies with an error. `INFO upstream` shows the last error. Retrying is safe.")
	errAwayFromHome = ClusterErrors.Add("ERR the limit of this key has its home in another cluster: use TB.ACQUIRE, LB.ACQUIRE, FW.ACQUIRE, CL.THROTTLE, RL.ALL or RL.CHECK, with no options but PEEK, UPTO, COST and AS, or ask the home cluster; nothing was taken",
		"The server has [`--upstream`](regions.md), and a key of the command, of a script or of a policy matches `--upstream-keys`. Or the key of a policy's limit matches for some callers and not for others.")
	ErrCrossSlot = ClusterErrors.Add("CROSSSLOT Keys in request don't hash to the same slot; give keys that belong together one hash tag, as in {user1}:a and {user1}:b: nothing was taken",
		"In a cluster with [`--groups`](cluster.md#groups), a command, a script or a transaction has keys of several groups. The id of a reservation counts as a key.")
	errNotShared = ClusterErrors.Add("CROSSSLOT a shared limit must be TB, CL, LB or FW without HISTORY, and the request without KEEP, MAXWAIT and BLOCK; otherwise give its keys one hash tag, as in {user1}:a and {user1}:b: nothing was taken",
		"A key matches [`--cluster-shared`](cluster.md#rules-for-groups), which allows only such requests.")
	errMoved = ClusterErrors.Add("MOVED %d %s",
		"The node is not the leader, took nothing, and has `--redirect moved`. Clients for Redis Cluster then ask the leader, whose address is in the text.")
	ErrNoCluster = ClusterErrors.Add("ERR this server is not a node of a cluster: start it with --cluster-listen", "")
	ErrRaft      = ClusterErrors.Add("ERR %w", "")
)
