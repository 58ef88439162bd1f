import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

final class Bucket4jProgram {
  public static void main(String[] args) throws Exception {
    var manager = Bucket4jLettuce.casBasedBuilder(RedisClient.create("redis://" + args[0])).build();
    var configuration =
        BucketConfiguration.builder()
            .addLimit(limit -> limit.capacity(5).refillIntervally(5, Duration.ofSeconds(2)))
            .build();
    Limiter.serve(
        Bucket4jLettuce.class,
        key -> {
          Bucket bucket = manager.builder().build(key.getBytes(StandardCharsets.UTF_8), () -> configuration);
          return () -> bucket.tryConsume(1);
        });
  }
}
