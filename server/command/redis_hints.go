package command

import (
	"slices"
	"strings"
)

// redisLimiterCommands are commands of Redis that limiters are commonly built from: those that run a script, and those used in
// such scripts or in a pipeline. Stint has none of them. Their error names the command that replaces such a limiter.
var redisLimiterCommands = []string{
	"fcall", "fcall_ro", "function",
	"hincrby", "hmget", "hgetall",
	"zadd", "zcard", "zcount", "zrem", "zremrangebyscore",
}

// redisHint is the answer to one of redisLimiterCommands. It begins as every unknown command's does, which client libraries look for.
func redisHint(name []byte) error {
	return errRedisLimiter.With(name)
}

func isRedisLimiterCommand(name []byte) bool {
	return len(name) <= longestName && slices.Contains(redisLimiterCommands, strings.ToLower(string(name)))
}
