import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.IncrexParams;

/** Limits by the command INCREX. */
final class JedisProgram {
  public static void main(String[] args) throws Exception {
    var client = RedisClient.create("redis://" + args[0]);
    var limit = IncrexParams.increxParams().ubound(5).ex(2).enx();
    Limiter.serve(RedisClient.class, key -> () -> client.increx("increx-" + key, 1L, limit).get(1) == 1);
  }
}
