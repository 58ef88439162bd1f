"""Serve ../clusterkills_test.go: of each line, KEY CALLS, make the calls, and print how many were granted."""

import sys

from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

addresses, limit = sys.argv[1], sys.argv[2]
nodes = [ClusterNode(host, int(port)) for host, port in (a.split(":") for a in addresses.split(","))]
# A client for clusters asks again at once, whatever the backoff: a small number of retries ends before a new leader is elected.
client = RedisCluster(startup_nodes=nodes, retry=Retry(NoBackoff(), 10**9))
print("uses redis-py", flush=True)
for line in sys.stdin:
    key, calls = line.split()
    try:
        granted = sum(client.execute_command("TB.ACQUIRE", key, limit, "1/365d")[0] for _ in range(int(calls)))
        print("passed", granted, flush=True)
    except Exception as error:  # whatever reaches an application
        print("failed", type(error).__name__, error, flush=True)
