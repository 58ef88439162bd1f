import java.time.Duration;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.config.Config;

final class RedissonProgram {
  public static void main(String[] args) throws Exception {
    var config = new Config();
    config.useSingleServer().setAddress("redis://" + args[0]);
    var redisson = Redisson.create(config);
    Limiter.serve(
        Redisson.class,
        key -> {
          RRateLimiter limiter = redisson.getRateLimiter(key);
          limiter.trySetRate(RateType.OVERALL, 5, Duration.ofSeconds(2));
          return limiter::tryAcquire;
        });
  }
}
