package stint

import "github.com/redis/go-redis/v9"

// once is a command that go-redis sends at most once, however it is configured. Sent again after its reply was lost, an
// acquire would take its tokens twice. Redirections of a cluster are followed: what is redirected was not carried out.
type once struct{ *redis.Cmd }

// NoRetry is what go-redis asks before it sends a command again.
func (once) NoRetry() bool { return true }
