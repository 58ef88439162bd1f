package command

// The errors of [ConnectionErrors]. Other packages return the exported ones.
var (
	ErrMaxClients = ConnectionErrors.Add("ERR max number of clients reached",
		"The new connection is closed. Share connections through a pool, or raise `--max-clients`.")
	ErrMaxPerAddress = ConnectionErrors.Add("ERR max number of clients of one address reached (--max-clients-per-address)",
		"The new connection is closed. Share connections through a pool, or raise the setting, for example if clients connect through a proxy.")
	ErrNoProto         = ConnectionErrors.Add("NOPROTO unsupported protocol version", "")
	ErrDBIndex         = ConnectionErrors.Add("ERR DB index is out of range", "")
	errSelectInCluster = ConnectionErrors.Add("ERR SELECT is not allowed in cluster mode", "")
	ErrProtected       = ConnectionErrors.Add("DENIED Stint is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. To connect from elsewhere, set a password: start the server with the environment variable STINT_REQUIREPASS (docker run -e STINT_REQUIREPASS=PASSWORD), or with --requirepass PASSWORD.",
		"The connection comes from another machine, or from outside the container. On a network that keeps everybody else out, `--protected-mode no` turns this off.")
	ErrNoAuth = ConnectionErrors.Add("NOAUTH Authentication required.",
		"Give the client a user and a password.")
	ErrWrongPass = ConnectionErrors.Add("WRONGPASS invalid username-password pair or user is disabled.",
		"The password is wrong, the user does not exist, or it is `off`. The server does not reveal which.")
	ErrTooManyLogins = ConnectionErrors.Add("ERR too many failed logins from this address, try again in %d s",
		"The password was not checked, so that nobody can guess passwords quickly ([security.md](security.md#guessing)).")
	ErrNoSuchClient    = ConnectionErrors.Add("ERR No such client", "")
	ErrTooManyMonitors = ConnectionErrors.Add("ERR too many connections in MONITOR, at most 10", "")
	ErrSubscribed      = ConnectionErrors.Add("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
		"The connection is subscribed to channels. Use another connection, or RESP3.")
	ErrNeedsConnection = ConnectionErrors.Add("ERR '%s' is about a connection: it needs one in the Redis protocol",
		"Over HTTP, log in with the header `Authorization`. For messages and `MONITOR`, use the Redis port.")
	ErrNoCommand = ConnectionErrors.Add("ERR empty command", "")
	ErrRequest   = ConnectionErrors.Add("ERR cannot read the request: %s",
		"The body of a request over HTTP is not in [Upstash's dialect](http.md#upstashs-rest-dialect).")
	ErrUnblocked    = ConnectionErrors.Add("UNBLOCKED client unblocked via CLIENT UNBLOCK", "")
	ErrNoRedirect   = ConnectionErrors.Add("ERR The client ID you want redirect to does not exist", "")
	ErrManyPrefixes = ConnectionErrors.Add("ERR a client tracks at most %d prefixes of at most %d bytes, and all clients together at most %d; a key may begin with at most %d of these prefixes", "")
)

// The errors of [UserErrors]. Other packages return the exported ones.
var (
	ErrNoCommandAccess = UserErrors.Add("NOPERM User %s has no permissions to run the '%s' command",
		"The user may not use this command. `ACL SETUSER name +command` allows it.")
	ErrNoKeyAccess = UserErrors.Add("NOPERM No permissions to access a key",
		"A key is outside the user's patterns, or the command concerns every key. `ACL SETUSER name ~pattern` adds a pattern. `ACL LOG` shows the key.")
	ErrNoChannelAccess = UserErrors.Add("NOPERM No permissions to access a channel",
		"A channel is outside the user's patterns. `ACL SETUSER name &pattern` adds a pattern. `ACL LOG` shows the channel.")
	ErrRateLimited = UserErrors.Add("LIMITED user %s makes more than %d requests a second; try again in %d ms",
		"The user has reached its `max-rate`. Nothing was executed.")
	ErrACLRule = UserErrors.Add("ERR Error in ACL SETUSER modifier '%s': %w",
		"The rule is invalid, for the reason at the end. The user is unchanged.")
	ErrUsername     = UserErrors.Add("ERR Usernames can't contain spaces or null characters, and have 1 to 64 bytes", "")
	ErrTooManyUsers = UserErrors.Add("ERR there are already %d users, the maximum; remove one with ACL DELUSER", "")
	ErrDefaultUser  = UserErrors.Add("ERR The 'default' user cannot be removed", "")
	ErrNoACLFile    = UserErrors.Add("ERR This Stint instance is not configured to use an ACL file. Start it with --acl-file PATH; without, users last until the server ends.",
		"")
	ErrACLLoad = UserErrors.Add("ERR %w; the users are unchanged",
		"The file of `--acl-file` cannot be read, or a line in it is wrong.")
	ErrACLSave = UserErrors.Add("ERR the file of users cannot be written: %w", "")
)

// ErrTimeoutNegative is the error of a wait with a negative timeout.
var ErrTimeoutNegative = DataErrors.Add("ERR timeout is negative", "")

// ErrRange is the error of a number outside the allowed range, such as 32 bits.
var ErrRange = DataErrors.Add("ERR value is out of range, value must between %d and %d", "")
