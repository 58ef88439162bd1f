package stint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// firstCallAt is a variable with the address of a server. This program then makes a first call in place of tests.
const firstCallAt = "TEST_FIRST_CALL_AT"

// printFirstCall prints who decided the first call of this process. No call reaches the server within its own deadline.
func printFirstCall(address string) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	l := stint.New(client, stint.FailOpen(), stint.Timeout(time.Nanosecond), stint.ConnectTimeout(time.Minute))
	r, err := l.Allow(context.Background(), "first", stint.PerMinute(100))
	fmt.Println(r.Source)
	return errors.Join(err, l.Close(), client.Close())
}

// TestFirstCallOfAProcess: the server decides the first call of a new process, because connecting does not use up its deadline.
func TestFirstCallOfAProcess(t *testing.T) {
	for range 3 {
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env, process.WaitDelay = append(os.Environ(), firstCallAt+"="+address), time.Second
		if out, err := process.CombinedOutput(); err != nil || string(out) != "server\n" {
			t.Errorf("%v, %q", err, out)
		}
	}
}
