package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterName is the Sentinels' name of the watched servers.
const masterName = "limiter"

// A sentinelCluster is three Redis servers, the first of which is the primary, and three Sentinels.
type sentinelCluster struct {
	*Instance // its processes are the servers first
	script    *redis.Script
	client    *redis.Client // one pool for all clients, like an application
}

const sentinelTimeout = 30 * time.Second

// startSentinel starts them. Redis keeps an append-only file synced every second, the default once it is enabled;
// Sentinel has its defaults except the time after which it considers a server down.
func startSentinel(downAfterMilliseconds int) func(ctx context.Context, e Env) (cluster, error) {
	return func(ctx context.Context, _ Env) (cluster, error) {
		start := inDataDir(func(ctx context.Context, _, dir string, _ []string) (*Instance, error) {
			inst := &Instance{}
			if err := startSentinels(ctx, inst, dir, downAfterMilliseconds); err != nil {
				inst.Stop()
				return nil, err
			}
			return inst, nil
		})
		inst, err := start(ctx, "sentinel", nil)
		if err != nil {
			return nil, err
		}
		client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: inst.Nodes, MaxRetries: -1, PoolSize: burstClients})
		return &sentinelCluster{inst, redis.NewScript(gcraScript), client}, nil
	}
}

// startSentinels adds the processes to an instance, whose Nodes are the Sentinels.
func startSentinels(ctx context.Context, inst *Instance, dir string, downAfterMilliseconds int) error {
	var ports [6]string
	for i := range ports {
		var err error
		if ports[i], err = reservePort(); err != nil {
			return err
		}
	}
	start := func(name string, argv ...string) error {
		p, err := startProcess(ctx, name, nil, argv...)
		if err == nil {
			inst.processes = append(inst.processes, p)
		}
		return err
	}
	for i, port := range ports[:3] {
		data := filepath.Join(dir, "redis-"+strconv.Itoa(i))
		if err := os.Mkdir(data, 0o755); err != nil {
			return err
		}
		argv := []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", data, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"}
		if i > 0 {
			argv = append(argv, "--replicaof", "127.0.0.1 "+ports[0])
		}
		if err := start(fmt.Sprint("redis-failover-", i), argv...); err != nil {
			return err
		}
	}
	primary := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + ports[0], MaxRetries: -1, PoolSize: 1})
	defer primary.Close()
	if err := await(ctx, sentinelTimeout, "two replicas to follow", func() bool { return replicas(ctx, primary) == 2 }); err != nil {
		return err
	}
	for i, port := range ports[3:] {
		config := filepath.Join(dir, fmt.Sprintf("sentinel-%d.conf", i)) // Sentinel stores its state there
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor %s 127.0.0.1 %s 2\nsentinel down-after-milliseconds %s %d\n",
			port, masterName, ports[0], masterName, downAfterMilliseconds)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return err
		}
		if err := start(fmt.Sprint("sentinel-", i), "redis-sentinel", config); err != nil {
			return err
		}
		inst.Nodes = append(inst.Nodes, "127.0.0.1:"+port)
	}
	return await(ctx, sentinelTimeout, "the Sentinels to know each other and the replicas", func() bool {
		for _, address := range inst.Nodes {
			if !knowsAll(ctx, address) {
				return false
			}
		}
		return true
	})
}

// replicas counts the replicas that have caught up.
func replicas(ctx context.Context, primary *redis.Client) (n int) {
	role, err := primary.Do(ctx, "ROLE").Result()
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

// Stop also closes the clients' pool.
func (c *sentinelCluster) Stop() {
	_ = c.client.Close()
	c.Instance.Stop()
}

func (c *sentinelCluster) killPrimary(context.Context) error {
	c.processes[0].kill()
	return nil
}

// viaSentinel runs the script on the primary that the Sentinels name.
type viaSentinel struct{ c *sentinelCluster }

func (c *sentinelCluster) connect(int) (asker, error) { return viaSentinel{c}, nil }

func (v viaSentinel) ask(ctx context.Context, key string) (admitted bool, err error) {
	reply, err := v.c.script.Run(ctx, v.c.client, []string{key}, strconv.Itoa(burstLimit-1), "1", "86400", "1").Int64Slice()
	if err != nil {
		return false, err
	}
	return reply[0] == 0, nil
}

func (v viaSentinel) close() {}
