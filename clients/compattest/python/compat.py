"""Use a Stint server through redis-py, unchanged, and check every reply.

The server's address comes from STINT_ADDR, and those of a cluster's nodes, for clients that look for its leader, from
STINT_CLUSTER, separated by commas. Each protocol prints one line, "redis-py RESP3: 150 checks"; a reply that is not
the promised one is printed too, and the program exits with 1.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import redis
from redis.cache import CacheConfig
from redis.cluster import ClusterNode, RedisCluster

CLIENT_NAME = "stint-compat"
PATIENCE = 60  # seconds for a reply: after the usual five, redis-py would send a command again


class Contract:
    """The checks that every client library of every language runs; ../README.md lists them.

    Limits refill so slowly (a token an hour, a token a day) that no reply depends on how fast the test runs.
    """

    def __init__(self, name, options, resp):
        self.name, self.options, self.resp = name, options, resp
        self.checks = self.failures = 0
        self.client = self.connect()

    def connect(self):
        host, port = os.environ["STINT_ADDR"].rsplit(":", 1)
        return redis.Redis(
            host=host, port=int(port), client_name=CLIENT_NAME, socket_timeout=PATIENCE, **self.options
        )

    def follow(self):
        """Do nothing: there is one server."""

    def cached(self):
        """Read a counter through the client's cache, which others count up: a limit of it grants no more than it has."""
        if "protocol" not in self.options or self.resp != "3":
            return
        key, granted = self.fresh("cached"), 0
        cache = {"protocol": 3, "cache_config": CacheConfig()}
        host, port = os.environ["STINT_ADDR"].rsplit(":", 1)
        with redis.Redis(host=host, port=int(port), socket_timeout=PATIENCE, **cache) as client:
            for _ in range(300):
                if int(client.get(key) or 0) < 20:
                    self.client.incr(key)
                    client.execute_command("PING")  # whatever changed before is invalid behind its reply
                    granted += 1
            self.check(granted == 20, f"a limit of 20 that is read through the cache grants {granted}")
            self.check(client.get_cache().size > 0, "nothing is cached")

    def run(self):
        try:
            self.handshake()
            self.pipelined()
            self.token_bucket()
            self.errors()
            self.transaction()
            self.watched()
            self.keys()
            self.concurrency()
            self.cached()
            self.follow()
        except redis.RedisError as error:
            self.check(False, f"gave up: {error}")
        finally:
            self.client.close()
        print(f"{self.name}: {self.checks} checks", flush=True)
        return self.checks > 0 and self.failures == 0

    def handshake(self):
        self.check(self.client.ping() is True, "PING")
        info = self.client.client_info()
        for field, want in ("name", CLIENT_NAME), ("resp", self.resp), ("lib-name", "redis-py"):
            got = info.get(field, "")
            self.check(got == want, f"CLIENT INFO: got {field}={got}, want {want}")

    def pipelined(self):
        key = self.fresh("pipeline")
        pipeline = self.client.pipeline(transaction=False)
        for _ in range(100):
            pipeline.execute_command("CL.THROTTLE", key, 4, 1, 86400)
        replies = pipeline.execute()
        self.check(len(replies) == 100, f"pipeline: {len(replies)} replies to 100 commands")
        for i, reply in enumerate(replies):
            limited, limit, remaining, retry, reset = reply
            if i < 5:
                ok = (limited, limit, remaining, retry) == (0, 5, 4 - i, -1) and reset > 0
            else:
                ok = (limited, limit, remaining) == (1, 5, 0) and 0 < retry <= 86400 and reset > 0
            self.check(ok, f"pipeline: reply {i + 1}: got {reply}")

    def token_bucket(self):
        key = self.fresh("bucket")
        self.reply("1 10 9 0 12000", "TB.ACQUIRE", key, 10, "5/m")

        key = self.fresh("options")
        self.reply("4 10 6 0 *", "TB.ACQUIRE", key, 10, "1/h", 4)
        self.reply("6 10 * 0 *", "TB.ACQUIRE", key, 10, "1/h", 6, "PEEK")
        self.reply("6 10 0 0 *", "TB.ACQUIRE", key, 10, "1/h", 10, "UPTO")
        self.reply("0 10 0 + *", "TB.ACQUIRE", key, 10, "1/h")
        self.reply("0 10 0 -1 *", "TB.ACQUIRE", key, 10, "1/h", 11)

        key = self.fresh("binary\x00\xff\r\n")
        self.reply("1 10 9 0 12000", "TB.ACQUIRE", key, 10, "5/m")

    def errors(self):
        key = self.fresh("errors")
        self.fails("capacity: must be an integer between 1 and 1000000000000, got 'ten'", "TB.ACQUIRE", key, "ten", 1)
        self.fails("wrong number of arguments for 'tb.acquire' command", "TB.ACQUIRE", key)
        self.unknown(key)
        self.reply("0 5 4 -1 86400", "CL.THROTTLE", key, 4, 1, 86400)
        self.fails("WRONGTYPE", "TB.ACQUIRE", key, 10, 1)

        # An error in a pipeline is the answer to one command and to no other.
        key = self.fresh("mixed")
        pipeline = self.client.pipeline(transaction=False)
        for rate in "1/h", "fast", "1/h":
            pipeline.execute_command("TB.ACQUIRE", key, 10, rate)
        first, second, third = pipeline.execute(raise_on_error=False)
        self.check(matches(first, "1 10 9 0 *"), f"mixed pipeline: reply 1: got {first}")
        self.check(
            isinstance(second, redis.ResponseError) and "rate: " in str(second),
            f"mixed pipeline: reply 2: got {second!r}",
        )
        self.check(matches(third, "1 10 8 0 *"), f"mixed pipeline: reply 3: got {third}")

    def unknown(self, key):
        self.fails("unknown command 'TB.NONSUCH'", "TB.NONSUCH", key)

    def transaction(self):
        throttle, bucket = self.fresh("transaction-1"), self.fresh("transaction-2")
        with self.client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("CL.THROTTLE", throttle, 4, 1, 86400)
            pipeline.execute_command("CL.THROTTLE", throttle, 4, 1, 86400)
            pipeline.execute_command("TB.ACQUIRE", bucket, 10, "5/m")
            replies = pipeline.execute()
        self.check(len(replies) == 3, f"EXEC: got {replies}")
        for reply, want in zip(replies, ("0 5 4 -1 86400", "0 5 3 -1 +", "1 10 9 0 12000")):
            self.check(matches(reply, want), f"EXEC: got {reply}, want {want}")

    def watched(self):
        """Eight clients raise a number by WATCH."""
        key = self.fresh("watched")

        def raise_number(pipeline):
            number = int(pipeline.get(key) or 0)
            pipeline.multi()
            pipeline.set(key, number + 1)

        def ask(_):
            with self.connect() as client:
                for _ in range(25):
                    client.transaction(raise_number, key)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(8)))
        number = self.client.get(key)
        self.check(number == b"200", f"WATCH: 200 transactions raised a number to {number}")

    def keys(self):
        throttle, bucket = self.fresh("keys-1"), self.fresh("keys-2")
        self.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, 4, 1, 86400)
        self.reply("1 10 9 0 3600000", "TB.ACQUIRE", bucket, 10, "1/h")
        for key, kind, seconds in (throttle, b"gcra", 86400), (bucket, b"token-bucket", 3600):
            exists, got, ttl, pttl = self.state(key)
            self.check(exists == 1, f"EXISTS: got {exists}")
            self.check(got == kind, f"TYPE: got {got}, want {kind}")
            self.check(0 < ttl <= seconds, f"TTL: got {ttl}")
            self.check(0 < pttl <= seconds * 1000, f"PTTL: got {pttl}")

        self.check(self.client.delete(throttle) == 1, "DEL")
        state = self.state(throttle)
        self.check(state == (0, b"none", -2, -2), f"after DEL: got {state}")
        self.reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, 4, 1, 86400)

    def concurrency(self):
        """Eight clients ask fifty times each for one of fifty tokens."""
        key = self.fresh("concurrency")

        def ask(_):
            with self.connect() as client:
                return [client.execute_command("TB.ACQUIRE", key, 50, "1/h") for _ in range(50)]

        with ThreadPoolExecutor(8) as pool:
            replies = [reply for answers in pool.map(ask, range(8)) for reply in answers]
        granted = sum(reply[0] for reply in replies)
        self.check(len(replies) == 400, f"concurrency: {len(replies)} answers to 400 attempts")
        self.check(granted == 50, f"concurrency: {granted} granted of 50")

    def check(self, ok, text):
        self.checks += 1
        if not ok:
            self.failures += 1
            print(f"{self.name}: FAILED: {text}", file=sys.stderr)

    def fresh(self, name):
        """A new key of this client, reset.

        All of them are in one slot, as clients for clusters want the keys of a transaction to be.
        """
        key = f"{{{self.name}}} {name}".encode("latin-1")
        self.client.delete(key)
        return key

    def reply(self, want, *command):
        got = self.client.execute_command(*command)
        self.check(matches(got, want), f"{command}: got {got}, want {want}")

    def fails(self, text, *command):
        try:
            got = self.client.execute_command(*command)
        except redis.ResponseError as error:
            got = error
        self.check(isinstance(got, redis.ResponseError) and text in str(got), f"{command}: got {got!r}, want {text}")

    def state(self, key):
        c = self.client
        return c.exists(key), c.type(key), c.ttl(key), c.pttl(key)


class DatabaseContract(Contract):
    """A number in the address chooses a database, on every connection."""

    def connect(self):
        return self.database(5)

    def database(self, number):
        return redis.Redis.from_url(f"redis://{os.environ['STINT_ADDR']}/{number}", socket_timeout=PATIENCE, **self.options)

    def run(self):
        clients = {number: self.database(number) for number in (0, 5)}
        for number, client in clients.items():
            client.set(self.name, number)
        for number, client in clients.items():
            got = client.get(self.name)
            self.check(got == str(number).encode(), f"GET in database {number}: got {got}")
            got = client.client_info().get("db")
            self.check(str(got) == str(number), f"CLIENT INFO in database {number}: got db={got}")
            self.check(client.delete(self.name) == 1, f"DEL in database {number}")
            client.close()
        print(f"{self.name}: {self.checks} checks", flush=True)
        return self.checks > 0 and self.failures == 0


class ClusterContract(Contract):
    """The same for a client that looks for the leader of a cluster."""

    def cached(self):
        """Do nothing: TestCachesOnFollowers has caches of a cluster's nodes."""

    def nodes(self):
        return [address.rsplit(":", 1) for address in os.environ["STINT_CLUSTER"].split(",")]

    def connect(self):
        nodes = [ClusterNode(host, int(port)) for host, port in self.nodes()]
        return RedisCluster(startup_nodes=nodes, client_name=CLIENT_NAME, socket_timeout=PATIENCE, **self.options)

    def handshake(self):
        self.check(self.client.ping(target_nodes=RedisCluster.PRIMARIES) is True, "PING")
        info = self.client.client_info(target_nodes=RedisCluster.RANDOM)
        for field, want in ("name", CLIENT_NAME), ("resp", self.resp), ("lib-name", "redis-py"):
            got = info.get(field, "")
            self.check(got == want, f"CLIENT INFO: got {field}={got}, want {want}")

    def unknown(self, key):
        """This client reads the positions of keys from COMMAND, and does not send commands that are not listed there."""
        try:
            self.client.execute_command("TB.NONSUCH", key)
        except redis.RedisError as error:
            self.check("TB.NONSUCH" in str(error), f"an unknown command: got {error!r}")
        else:
            self.check(False, "an unknown command was answered")

    def follow(self):
        """The leader changes; the client finds the new one, and takes no more tokens than the limit."""
        key = self.fresh("follow")
        for i in range(10):
            if i % 3 == 1:
                host, port = self.nodes()[i % 3]
                with redis.Redis(host=host, port=int(port), socket_timeout=PATIENCE) as node:
                    self.check(node.execute_command("RAFT", "TRANSFER") in (b"OK", True), "RAFT TRANSFER")
            self.reply(f"1 10 {9 - i} 0 *", "TB.ACQUIRE", key, 10, "1/d")
        self.reply("0 10 0 + *", "TB.ACQUIRE", key, 10, "1/d")


def matches(reply, pattern):
    """Compare five integers to a pattern: * is any of them, + one above zero."""
    wants = pattern.split()
    return (
        isinstance(reply, list)
        and len(reply) == len(wants)
        and all(
            isinstance(got, int) and (want == "*" or (got > 0 if want == "+" else got == int(want)))
            for got, want in zip(reply, wants)
        )
    )


if __name__ == "__main__":
    results = [
        Contract("redis-py default", {}, "3").run(),
        Contract("redis-py RESP2", {"protocol": 2}, "2").run(),
        Contract("redis-py RESP3", {"protocol": 3}, "3").run(),
        DatabaseContract("redis-py database", {}, "3").run(),
        ClusterContract("redis-py cluster RESP2", {"protocol": 2}, "2").run(),
        ClusterContract("redis-py cluster RESP3", {"protocol": 3}, "3").run(),
    ]
    sys.exit(0 if all(results) else 1)
