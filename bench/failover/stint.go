package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// stintCluster is three nodes with their defaults.
type stintCluster struct {
	processes []*process
	addresses []string
}

func startStint(binary string, options ...string) func(ctx context.Context, dir string) (cluster, error) {
	return func(ctx context.Context, dir string) (cluster, error) {
		ports, err := reservePorts(6)
		if err != nil {
			return nil, err
		}
		peers := fmt.Sprintf("127.0.0.1:%s,127.0.0.1:%s,127.0.0.1:%s", ports[3], ports[4], ports[5])
		c := &stintCluster{}
		for i := range 3 {
			name := fmt.Sprint("node-", i)
			p, err := start(filepath.Join(dir, name), append([]string{binary, "server", "--node-id", name, "--listen", "127.0.0.1:" + ports[i], "--admin", "",
				"--cluster-listen", "127.0.0.1:" + ports[3+i], "--cluster-peers", peers, "--bootstrap-expect", "3", "--dir", "data"}, options...)...)
			if err != nil {
				c.stop()
				return nil, err
			}
			c.processes, c.addresses = append(c.processes, p), append(c.addresses, "127.0.0.1:"+ports[i])
		}
		err = await(ctx, startTimeout, "three Stint nodes to decide", func() bool {
			for _, address := range c.addresses {
				if _, err := command(ctx, address, "CL.THROTTLE", "warm-up", "1", "1", "60"); err != nil {
					return false
				}
			}
			return true
		})
		if err != nil {
			c.stop()
			return nil, err
		}
		return c, nil
	}
}

func (c *stintCluster) stop() { killAll(c.processes) }

func (c *stintCluster) killPrimary(ctx context.Context) error {
	leader, err := c.leader(ctx)
	if err == nil {
		c.processes[leader].kill()
	}
	return err
}

// leader is the number of the node that leads.
func (c *stintCluster) leader(ctx context.Context) (int, error) {
	for i, address := range c.addresses {
		role, err := command(ctx, address, "ROLE")
		if items, ok := role.([]any); err == nil && ok && len(items) > 0 && items[0] == "master" {
			return i, nil
		}
	}
	return 0, errors.New("no node leads")
}

// command sends one command on a separate connection.
func command(ctx context.Context, address string, args ...any) (any, error) {
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 1})
	defer client.Close()
	return client.Do(ctx, args...).Result()
}

// roundRobin asks one node, and the next one when that does not answer.
type roundRobin struct {
	nodes []*redis.Client
	at    int
}

func (c *stintCluster) connect(client int) (asker, error) {
	r := &roundRobin{at: client}
	for _, address := range c.addresses {
		r.nodes = append(r.nodes, redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 1}))
	}
	return r, nil
}

func (r *roundRobin) ask(ctx context.Context, key string) (admitted bool, err error) {
	reply, err := r.nodes[r.at%len(r.nodes)].Do(ctx, "CL.THROTTLE", key, strconv.Itoa(limit-1), "1", "86400").Int64Slice()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "UNCERTAIN") && !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
			r.at++
		}
		return false, err
	}
	return reply[0] == 0, nil
}

func (r *roundRobin) close() {
	for _, n := range r.nodes {
		_ = n.Close()
	}
}
