package stint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// firstCallsAt is a variable with the address of a server. This program then makes its first calls there, in place of
// tests.
const firstCallsAt = "TEST_FIRST_CALLS_AT"

// printFirstCalls prints who decided the first three calls of this process. None reaches a server within its own
// deadline.
func printFirstCalls(address string) error {
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	l := stint.New(client, stint.FailOpen(), stint.Timeout(time.Nanosecond), stint.ConnectTimeout(time.Minute))
	var failed error
	for range 3 {
		r, err := l.Allow(context.Background(), "first", stint.PerMinute(100))
		fmt.Println(r.Source)
		failed = errors.Join(failed, err)
	}
	return errors.Join(failed, l.Close(), client.Close())
}

// TestFirstCallsOfAProcess: the server decides the first call of a new process, because connecting does not use up its
// deadline, and the first call that the fallback decides is reported once. On a busy machine the server may decide later
// calls too: a reply can arrive before the process notices that the deadline has passed.
func TestFirstCallsOfAProcess(t *testing.T) {
	for server, first := range map[string]string{address: "server\n", "127.0.0.1:1": "fallback\nfallback\nfallback\n"} {
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env, process.WaitDelay = append(os.Environ(), firstCallsAt+"="+server), time.Second
		var warnings strings.Builder
		process.Stderr = &warnings
		out, err := process.Output()
		reported := strings.Count(warnings.String(), "Stint did not decide a request")
		if err != nil || !strings.HasPrefix(string(out), first) || reported != min(1, strings.Count(string(out), "fallback")) {
			t.Errorf("%s: %v, %q, %s", server, err, out, warnings.String())
		}
	}
}
