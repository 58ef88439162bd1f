package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// take serves ../clusterkills_test.go: of each line, KEY CALLS, it makes the calls, and prints how many were granted.
func take(addresses, limit string) {
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(addresses, ","), MaxRedirects: 200, ClusterStateReloadInterval: time.Second})
	fmt.Println("uses go-redis")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var key string
		var calls, granted int
		_, err := fmt.Sscan(lines.Text(), &key, &calls)
		for range calls {
			var reply []int64
			if reply, err = c.Do(ctx, "TB.ACQUIRE", key, limit, "1/365d").Int64Slice(); err != nil {
				break
			}
			granted += int(reply[0])
		}
		if err != nil {
			fmt.Println("failed", err)
		} else {
			fmt.Println("passed", granted)
		}
	}
}
