package ops

import "github.com/stintdb/stint/server/command"

// The errors that only these commands have.
var (
	errSubcommand      = command.CommandErrors.Add("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.", "")
	errProtocolVersion = command.ConnectionErrors.Add("ERR Protocol version is not an integer or out of range", "")
	errHelloOption     = command.ConnectionErrors.Add("ERR Syntax error in HELLO option '%s'", "")
	errHelloNoAuth     = command.ConnectionErrors.Add("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time", "")
	errAuthNoPassword  = command.ConnectionErrors.Add("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"The user `default` needs no password. Remove the password from the client's settings, or name the user it belongs to.")
	errManyChannels = command.ConnectionErrors.Add("ERR a connection subscribes to at most %d channels, with names of at most %d bytes together",
		"Use another connection for more channels. Subscriptions to earlier channels stay.")
	errListedChannels  = command.ConnectionErrors.Add("ERR PUBSUB CHANNELS lists channels where there are at most %d", "")
	errUnblockReason   = command.ConnectionErrors.Add("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR", "")
	errPauseMode       = command.ConnectionErrors.Add("ERR CLIENT PAUSE mode must be WRITE or ALL", "")
	errSlowlogCount    = command.ConnectionErrors.Add("ERR count should be greater than or equal to -1", "")
	errClientID        = command.ConnectionErrors.Add("ERR Invalid client ID", "")
	errKillID          = command.ConnectionErrors.Add("ERR client-id should be greater than 0", "")
	errKillAge         = command.ConnectionErrors.Add("ERR maxage is not an integer or out of range", "")
	errKillNoAge       = command.ConnectionErrors.Add("ERR maxage should be greater than 0", "")
	errKillUser        = command.ConnectionErrors.Add("ERR No such user '%s'", "")
	errClientType      = command.ConnectionErrors.Add("ERR Unknown client type '%s'", "")
	errClientAttribute = command.ConnectionErrors.Add("ERR Unrecognized option '%s'", "")
	errNameTooLong     = command.ConnectionErrors.Add("ERR Client names are at most %d bytes, got %d", "")
	errNameCharacters  = command.ConnectionErrors.Add("ERR Client names cannot contain spaces, newlines or special characters.", "")
	errRedirectTwice   = command.ConnectionErrors.Add("ERR A client can only redirect to a single other client", "")
	errPrefixMode      = command.ConnectionErrors.Add("ERR PREFIX option requires BCAST mode to be enabled", "")
	errSwitchBroadcast = command.ConnectionErrors.Add("ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
		"")
	errBroadcastOpt = command.ConnectionErrors.Add("ERR OPTIN and OPTOUT are not compatible with BCAST", "")
	errOptBoth      = command.ConnectionErrors.Add("ERR You can't specify both OPTIN mode and OPTOUT mode", "")
	errSwitchOpt    = command.ConnectionErrors.Add("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
		"")
	errPrefixOverlaps = command.ConnectionErrors.Add("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.",
		"")
	errPrefixesOverlap = command.ConnectionErrors.Add("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.",
		"")
	errCachingMode = command.ConnectionErrors.Add("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
		"")
	errCachingYes       = command.ConnectionErrors.Add("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.", "")
	errCachingNo        = command.ConnectionErrors.Add("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.", "")
	errClientText       = command.ConnectionErrors.Add("ERR %s cannot contain spaces, newlines or special characters.", "")
	errACLCategory      = command.UserErrors.Add("ERR Unknown category '%s'", "")
	errGenPassBits      = command.UserErrors.Add("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to %d", "")
	errTimeoutInteger   = command.DataErrors.Add("ERR timeout is not an integer or out of range", "")
	errGetKeysCommand   = command.ServerErrors.Add("ERR Invalid command specified", "")
	errGetKeysArguments = command.ServerErrors.Add("ERR Invalid arguments specified for command", "")
	errGetKeysArity     = command.ServerErrors.Add("ERR Invalid number of arguments specified for command", "")
	errGetKeysNone      = command.ServerErrors.Add("ERR The command has no key arguments", "")
	errGroupsForming    = command.ClusterErrors.Add("ERR the groups of keys have not started yet: try again in a moment", "")
	errNotTracked       = command.ClusterErrors.Add("ERR nodes of a cluster with --cluster-replicas do not see every change of a key: do not cache keys here", "")
	errUnknownNode      = command.ClusterErrors.Add("ERR Unknown node %s", "")
	errNotMaster        = command.ClusterErrors.Add("ERR The specified node is not a master", "")
)
