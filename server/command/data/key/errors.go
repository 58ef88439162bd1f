package key

import "github.com/stintdb/stint/server/command"

// The errors of commands on keys of all kinds, and on databases.
var (
	errExpireNX          = command.DataErrors.Add("ERR NX and XX, GT or LT options at the same time are not compatible", "")
	errExpireGTLT        = command.DataErrors.Add("ERR GT and LT options at the same time are not compatible", "")
	errUnsupportedOption = command.DataErrors.Add("ERR Unsupported option %s", "")
	errManyKeysInScript  = command.DataErrors.Add("ERR a script may look at no more than %d keys: send SCAN outside the script", "")
	errNoFrequency       = command.DataErrors.Add("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.", "")
	errSameKey           = command.DataErrors.Add("ERR source and destination objects are the same", "")
	errKeysInMulti       = command.KeyErrors.Add("ERR KEYS in a transaction looks through at most %d keys, and there are more: use SCAN, or KEYS by itself",
		"")
	errMoveInCluster = command.ConnectionErrors.Add("ERR MOVE is not allowed in cluster mode", "")
	errSwapInCluster = command.ConnectionErrors.Add("ERR SWAPDB is not allowed in cluster mode", "")
	errSwapDB        = command.ConnectionErrors.Add("ERR SWAPDB is not supported: let clients SELECT the other database", "")
)
