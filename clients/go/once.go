package stint

import "github.com/redis/go-redis/v9"

// once is a command that go-redis sends at most once, in every configuration. Repeated after its reply was lost, an
// acquire would take its tokens twice. Redirections of a cluster are followed: a redirected command was not carried
// out.
type once struct{ *redis.Cmd }

// NoRetry makes go-redis send the command only once.
func (once) NoRetry() bool { return true }
