package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// masterName is the Sentinels' name of the watched servers.
const masterName = "limiter"

// sentinelCluster is three Redis servers, the first of which is the primary, and three Sentinels.
type sentinelCluster struct {
	processes []*process // the servers first
	sentinels []string
	script    *redis.Script
	client    *redis.Client // one pool for all clients, like an application
}

// startSentinel starts them. Redis keeps an append-only file synced every second, the default once it is enabled;
// Sentinel has its defaults except the time after which it considers a server down.
func startSentinel(downAfterMilliseconds int) func(ctx context.Context, dir string) (cluster, error) {
	return func(ctx context.Context, dir string) (cluster, error) {
		text, err := os.ReadFile("gcra.lua")
		if err != nil {
			return nil, fmt.Errorf("%w; run this as go run -C bench ./failover", err)
		}
		ports, err := reservePorts(6)
		if err != nil {
			return nil, err
		}
		c := &sentinelCluster{script: redis.NewScript(string(text))}
		if err := c.startAll(ctx, dir, ports, downAfterMilliseconds); err != nil {
			c.stop()
			return nil, err
		}
		return c, nil
	}
}

func (c *sentinelCluster) startAll(ctx context.Context, dir string, ports []string, downAfterMilliseconds int) error {
	for i, port := range ports[:3] {
		argv := []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"}
		if i > 0 {
			argv = append(argv, "--replicaof", "127.0.0.1 "+ports[0])
		}
		if err := c.start(dir, fmt.Sprint("redis-", i), argv...); err != nil {
			return err
		}
	}
	err := await(ctx, startTimeout, "two replicas to follow", func() bool { return c.replicas(ctx, "127.0.0.1:"+ports[0]) == 2 })
	if err != nil {
		return err
	}
	for i, port := range ports[3:] {
		config := filepath.Join(dir, fmt.Sprintf("sentinel-%d.conf", i)) // Sentinel stores its state there
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %s 2\nsentinel down-after-milliseconds %s %d\n",
			port, masterName, ports[0], masterName, downAfterMilliseconds)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return err
		}
		if err := c.start(dir, fmt.Sprint("sentinel-", i), "redis-sentinel", config); err != nil {
			return err
		}
		c.sentinels = append(c.sentinels, "127.0.0.1:"+port)
	}
	err = await(ctx, startTimeout, "the Sentinels to know each other and the replicas", func() bool {
		for _, address := range c.sentinels {
			if !knowsAll(ctx, address) {
				return false
			}
		}
		return true
	})
	c.client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: c.sentinels, MaxRetries: -1, PoolSize: clients})
	return err
}

func (c *sentinelCluster) start(dir, name string, argv ...string) error {
	p, err := start(filepath.Join(dir, name), argv...)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return err
}

// replicas counts the replicas that have caught up.
func (c *sentinelCluster) replicas(ctx context.Context, address string) (n int) {
	role, err := command(ctx, address, "ROLE")
	if items, ok := role.([]any); err == nil && ok && len(items) == 3 {
		followers, _ := items[2].([]any)
		return len(followers)
	}
	return 0
}

// knowsAll reports whether a Sentinel could fail over: it knows two other Sentinels and two healthy replicas.
func knowsAll(ctx context.Context, address string) bool {
	client := redis.NewSentinelClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 1})
	defer client.Close()
	master, err := client.Master(ctx, masterName).Result()
	if err != nil || master["num-other-sentinels"] != "2" || master["num-slaves"] != "2" || master["flags"] != "master" {
		return false
	}
	replicas, err := client.Replicas(ctx, masterName).Result()
	if err != nil {
		return false
	}
	for _, r := range replicas {
		if r["master-link-status"] != "ok" || r["flags"] != "slave" {
			return false
		}
	}
	return true
}

func (c *sentinelCluster) stop() {
	if c.client != nil {
		_ = c.client.Close()
	}
	killAll(c.processes)
}

func (c *sentinelCluster) killPrimary(context.Context) error {
	if len(c.processes) == 0 {
		return errors.New("nothing runs")
	}
	c.processes[0].kill()
	return nil
}

// viaSentinel runs the script on the primary that the Sentinels name.
type viaSentinel struct{ c *sentinelCluster }

func (c *sentinelCluster) connect(int) (asker, error) { return viaSentinel{c}, nil }

func (v viaSentinel) ask(ctx context.Context, key string) (admitted bool, err error) {
	reply, err := v.c.script.Run(ctx, v.c.client, []string{key}, strconv.Itoa(limit-1), "1", "86400", "1").Int64Slice()
	if err != nil {
		return false, err
	}
	return reply[0] == 0, nil
}

func (v viaSentinel) close() {}
