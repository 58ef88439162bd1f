package command

import (
	"fmt"
	"slices"
	"strings"
)

// limiterParts are commands of Redis from which people build limiters: the ways to run a script, and what stands in such
// scripts, or in a pipeline. None of them is here. Who sends one has a limiter to move, and is told where to.
var limiterParts = []string{
	"eval", "eval_ro", "evalsha", "evalsha_ro", "script", "fcall", "fcall_ro", "function",
	"incr", "incrby", "decr", "decrby", "hincrby", "hmget", "hgetall",
	"zadd", "zcard", "zcount", "zrem", "zremrangebyscore",
}

// unknownPart is the answer to one of limiterParts. It begins as every unknown command's does, which client libraries look for.
func unknownPart(name []byte) error {
	return fmt.Errorf("ERR unknown command '%s': Stint runs no scripts and has none of Redis's data types; a limiter made of them is one command here: "+
		"FW.ACQUIRE for INCR and EXPIRE, SL.ACQUIRE for a sorted set of times, CC.ACQUIRE for one of leases, TB.ACQUIRE for a token bucket or GCRA; "+
		"docs/migration-from-lua.md has each script beside its command", name)
}

func isLimiterPart(name []byte) bool {
	return len(name) <= longestName && slices.Contains(limiterParts, strings.ToLower(string(name)))
}
