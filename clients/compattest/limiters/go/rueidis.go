package main

import (
	"context"
	"os"
	"sync"

	"github.com/redis/rueidis"
)

// rueidisClient is that of all keys.
var rueidisClient = sync.OnceValues(func() (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Args[2]}, DisableCache: true})
})

// rueidisGCRA limits by the command GCRA.
func rueidisGCRA(_, key string) (call, error) {
	return rueidisCall(func(b rueidis.Builder) rueidis.Completed {
		return b.Gcra().Key("gcra:" + key).MaxBurst(4).TokensPerPeriod(5).Period(5).Build()
	}, func(reply []int64) bool { return reply[0] == 0 })
}

// rueidisIncrex limits by the command INCREX.
func rueidisIncrex(_, key string) (call, error) {
	return rueidisCall(func(b rueidis.Builder) rueidis.Completed {
		return b.Increx().Key("increx:" + key).Byint(1).Ubound(5).ExSeconds(2).Enx().Build()
	}, func(reply []int64) bool { return reply[1] == 1 })
}

func rueidisCall(command func(rueidis.Builder) rueidis.Completed, granted func(reply []int64) bool) (call, error) {
	client, err := rueidisClient()
	return func() (bool, error) {
		reply, err := client.Do(context.Background(), command(client.B())).AsIntSlice()
		return err == nil && granted(reply), err
	}, err
}
