package stint

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// universal sends through a client of go-redis, the application's own.
type universal struct{ client redis.UniversalClient }

func (u universal) send(ctx context.Context, commands []redis.Cmder) {
	sendThrough(ctx, u.client, commands)
	if cluster, ok := u.client.(interface{ ReloadState(context.Context) }); ok && cannotServe(commands) {
		// A cluster client looks for the new leader only when it repeats a command, and these are not repeated.
		cluster.ReloadState(ctx)
	}
}

// sendThrough sends commands as one pipeline. Errors are left in the commands.
func sendThrough(ctx context.Context, client redis.UniversalClient, commands []redis.Cmder) {
	if len(commands) == 1 {
		_ = client.Process(ctx, commands[0])
		return
	}
	pipeline := client.Pipeline()
	for _, command := range commands {
		_ = pipeline.Process(ctx, command)
	}
	_, _ = pipeline.Exec(ctx)
}
