// Command compat uses a Stint server through Go's Redis client libraries, unchanged, and checks every reply.
//
// The server's address comes from STINT_ADDR, and those of a cluster's nodes, for clients that look for its leader, from
// STINT_CLUSTER, separated by commas. Each client and protocol prints one line,
// "go-redis RESP3: 150 checks"; a reply that is not the promised one is printed too, and the program exits with 1.
package main

import (
	"fmt"
	"os"
	"strings"
)

// client is the part of a library that the contract needs. Each method is written in the style of that library's users.
type client interface {
	ping() (string, error)
	info() (string, error) // CLIENT INFO
	do(args ...string) (any, error)
	pipeline(commands [][]string) []any             // a reply or an error for each command
	transaction(commands [][]string) ([]any, error) // MULTI … EXEC
	del(key string) (int64, error)
	key(key string) (keyState, error)
	isServerError(err error) bool // of the type the library keeps for error replies
	close()
}

// keyState is the replies of the commands on keys for one key. Times are in the command's unit.
type keyState struct {
	exists    int64
	kind      string
	ttl, pttl int64
}

// clientName is set by each library at connect, and looked for in CLIENT INFO.
const clientName = "stint-compat"

func main() {
	if len(os.Args) == 3 {
		take(os.Args[1], os.Args[2])
		return
	}
	address := os.Getenv("STINT_ADDR")
	if address == "" {
		fmt.Fprintln(os.Stderr, "STINT_ADDR must be the address of a Stint server, such as 127.0.0.1:6379")
		os.Exit(2)
	}
	nodes := strings.Split(os.Getenv("STINT_CLUSTER"), ",")
	failed := false
	for _, c := range []struct {
		name     string
		protocol int
		library  string // how the library names itself with CLIENT SETINFO; empty if it does not
		connect  func(address string, protocol int) (client, error)
	}{
		{"go-redis", 2, "go-redis", connectGoRedis},
		{"go-redis", 3, "go-redis", connectGoRedis},
		{"rueidis", 2, "rueidis", connectRueidis},
		{"rueidis", 3, "rueidis", connectRueidis},
		{"redigo", 2, "", connectRedigo},
		{"go-redis cluster", 2, "go-redis", nil},
		{"go-redis cluster", 3, "go-redis", nil},
	} {
		t := &contract{
			name:     fmt.Sprintf("%s RESP%d", c.name, c.protocol),
			protocol: c.protocol,
			library:  c.library,
			connect:  func() (client, error) { return c.connect(address, c.protocol) },
		}
		if c.connect == nil {
			t.nodes, t.connect = nodes, func() (client, error) { return connectGoRedisCluster(nodes, c.protocol) }
		}
		t.run()
		fmt.Printf("%s: %d checks\n", t.name, t.checks)
		failed = failed || t.failures > 0 || t.checks == 0
	}
	t := &contract{name: "go-redis database"}
	t.database(address)
	fmt.Printf("%s: %d checks\n", t.name, t.checks)
	if failed || t.failures > 0 {
		os.Exit(1)
	}
}
