package command

import "github.com/stintdb/stint/server/resp"

var connectionErrors = resp.ErrorSection{Heading: "The connection"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrMaxClients = connectionErrors.Add("ERR max number of clients reached",
		"More connections than `--max-clients`. This one is closed. Share connections through a pool, or raise `--max-clients`.")
	ErrMaxPerAddress = connectionErrors.Add("ERR max number of clients of one address reached (--max-clients-per-address)",
		"This one is closed. Share connections through a pool, or raise the setting, as behind a proxy.")
	ErrNoProto = connectionErrors.Add("NOPROTO unsupported protocol version",
		"`HELLO` with another version than 2 or 3.")
	errProtocolVersion = connectionErrors.Add("ERR Protocol version is not an integer or out of range",
		"")
	errHelloOption = connectionErrors.Add("ERR Syntax error in HELLO option '%s'",
		"`HELLO` takes `AUTH` and `SETNAME` after the version.")
	ErrDBIndex = connectionErrors.Add("ERR DB index is out of range",
		"There are `--databases`, from 0 on.")
	errSelectInCluster = connectionErrors.Add("ERR SELECT is not allowed in cluster mode",
		"A cluster has database 0 alone. Set the client's database to 0.")
	errMoveInCluster = connectionErrors.Add("ERR MOVE is not allowed in cluster mode",
		"")
	errSwapInCluster = connectionErrors.Add("ERR SWAPDB is not allowed in cluster mode",
		"")
	errSwapDB = connectionErrors.Add("ERR SWAPDB is not supported: databases keep their numbers",
		"Have the clients select the other database.")
	ErrProtected = connectionErrors.Add("DENIED Stint is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. To connect from elsewhere, do one of these: 1) Set a password: start the server with --requirepass or --acl-file, or send CONFIG SET requirepass from the same machine. 2) If the network keeps everybody else out, turn protected mode off: --protected-mode no, or CONFIG SET protected-mode no from the same machine.",
		"The connection comes from another machine, and no password is set. The server closes it.")
	ErrNoAuth = connectionErrors.Add("NOAUTH Authentication required.",
		"The connection is unauthenticated: only `AUTH`, `HELLO`, `QUIT` and `RESET` may be used. Give the client a user and a password.")
	errHelloNoAuth = connectionErrors.Add("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
		"The same error of a `HELLO` without `AUTH`.")
	errAuthNoPassword = connectionErrors.Add("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"The user `default` needs no password. Take it out of the client's settings, or name the user it is for.")
	ErrWrongPass = connectionErrors.Add("WRONGPASS invalid username-password pair or user is disabled.",
		"The password is wrong, the user does not exist, or it is `off`. The server does not reveal which.")
	ErrTooManyLogins = connectionErrors.Add("ERR too many failed logins from this address, try again in %d s",
		"The attempt's turn did not come within 10 seconds; the password was not checked: [security.md](security.md#guessing).")
	ErrNoSuchClient = connectionErrors.Add("ERR No such client",
		"")
	ErrTooManyMonitors = connectionErrors.Add("ERR too many connections in MONITOR, at most 10",
		"Close another monitor: `CLIENT LIST` shows them with the flag `O`.")
	ErrSubscribed = connectionErrors.Add("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
		"The connection is subscribed to channels. Use another one, or RESP3. Of these commands, Stint has those without P or S in front.")
	errManyChannels = connectionErrors.Add("ERR a connection subscribes to at most %d channels, with names of at most %d bytes together",
		"Use another connection for more. Those before stay, and the error is the reply for this channel and those behind it.")
	errListedChannels  = connectionErrors.Add("ERR PUBSUB CHANNELS lists channels where there are at most %d", "Ask for the channels that you know, by `PUBSUB NUMSUB`.")
	ErrNeedsConnection = connectionErrors.Add("ERR '%s' is about a connection: it needs one in the Redis protocol",
		"The request came over HTTP, where connections have no state. Log in with `Authorization`, and use the Redis port for messages and `MONITOR`.")
	ErrNoCommand = connectionErrors.Add("ERR empty command",
		"")
	ErrRequest = connectionErrors.Add("ERR cannot read the request: %s",
		"The body of a request over HTTP is none of [Upstash's dialect](http.md#upstashs-rest-dialect).")
	ErrUnblocked = connectionErrors.Add("UNBLOCKED client unblocked via CLIENT UNBLOCK",
		"An operator ended the wait.")
	errUnblockReason = connectionErrors.Add("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
		"")
	errSlowlogCount = connectionErrors.Add("ERR count should be greater than or equal to -1",
		"")
	errClientID = connectionErrors.Add("ERR Invalid client ID",
		"")
	errKillID = connectionErrors.Add("ERR client-id should be greater than 0",
		"")
	errKillAge = connectionErrors.Add("ERR maxage is not an integer or out of range",
		"")
	errKillNoAge = connectionErrors.Add("ERR maxage should be greater than 0",
		"")
	errKillUser = connectionErrors.Add("ERR No such user '%s'",
		"")
	errClientType = connectionErrors.Add("ERR Unknown client type '%s'",
		"The types are normal, master, replica and pubsub.")
	errClientAttribute = connectionErrors.Add("ERR Unrecognized option '%s'",
		"`CLIENT SETINFO` knows LIB-NAME and LIB-VER.")
	errNameTooLong = connectionErrors.Add("ERR Client names are at most %d bytes, got %d",
		"")
	errNameCharacters = connectionErrors.Add("ERR Client names cannot contain spaces, newlines or special characters.",
		"")
	errRedirectTwice = connectionErrors.Add("ERR A client can only redirect to a single other client",
		"")
	ErrNoRedirect = connectionErrors.Add("ERR The client ID you want redirect to does not exist",
		"")
	errPrefixMode = connectionErrors.Add("ERR PREFIX option requires BCAST mode to be enabled",
		"")
	errSwitchBroadcast = connectionErrors.Add("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
		"")
	errBroadcastOpt = connectionErrors.Add("ERR OPTIN and OPTOUT are not compatible with BCAST",
		"")
	errOptBoth = connectionErrors.Add("ERR You can't specify both OPTIN mode and OPTOUT mode",
		"")
	errSwitchOpt = connectionErrors.Add("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
		"")
	errPrefixOverlaps = connectionErrors.Add("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.",
		"")
	errPrefixesOverlap = connectionErrors.Add("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.",
		"")
	ErrManyPrefixes = connectionErrors.Add("ERR a client tracks at most %d prefixes of at most %d bytes, and all clients together %d, of which one key begins with %d at most",
		"Use fewer and shorter prefixes.")
	errCachingMode = connectionErrors.Add("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
		"")
	errCachingYes = connectionErrors.Add("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
		"")
	errCachingNo = connectionErrors.Add("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
		"")
	errClientText = connectionErrors.Add("ERR %s cannot contain spaces, newlines or special characters.",
		"")
)

var userErrors = resp.ErrorSection{Heading: "Users and their rights", Before: "[security.md](security.md) explains them.\n"}

// The errors of this section. Other packages return the exported ones.
var (
	ErrNoCommandAccess = userErrors.Add("NOPERM User %s has no permissions to run the '%s' command",
		"The user may not use this command: `ACL SETUSER name +command`.")
	ErrNoKeyAccess = userErrors.Add("NOPERM No permissions to access a key",
		"A key is outside the user's patterns, or the command concerns every key: `ACL SETUSER name ~pattern`. `ACL LOG` has the key.")
	ErrNoChannelAccess = userErrors.Add("NOPERM No permissions to access a channel",
		"A channel is outside the user's patterns: `ACL SETUSER name &pattern`. `ACL LOG` has the channel.")
	ErrRateLimited = userErrors.Add("LIMITED user %s makes more than %d requests a second; try again in %d ms",
		"The user's `max-rate`. Nothing was carried out.")
	ErrACLRule = userErrors.Add("ERR Error in ACL SETUSER modifier '%s': %w",
		"An invalid rule; the rest is the reason. The user is unchanged. `max-keys` needs key patterns by which keys can be counted.")
	ErrUsername = userErrors.Add("ERR Usernames can't contain spaces or null characters, and have 1 to 64 bytes",
		"")
	ErrTooManyUsers = userErrors.Add("ERR there may be %d users, and there are",
		"")
	ErrDefaultUser = userErrors.Add("ERR The 'default' user cannot be removed",
		"Turn it off instead: `ACL SETUSER default off`.")
	errACLCategory = userErrors.Add("ERR Unknown category '%s'",
		"")
	errGenPassBits = userErrors.Add("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to %d",
		"Leave it out for 256 bits.")
	ErrNoACLFile = userErrors.Add("ERR This Stint instance is not configured to use an ACL file. Start it with --acl-file PATH; without, users last until the server ends.",
		"")
	ErrACLLoad = userErrors.Add("ERR %w; the users stay as they were",
		"The file cannot be read, or a line in it is wrong.")
	ErrACLSave = userErrors.Add("ERR the file of users cannot be written: %w",
		"")
)
