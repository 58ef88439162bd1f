import java.time.Duration;
import org.redisson.Redisson;
import org.redisson.api.RGcra;
import org.redisson.config.Config;

/** Limits by the command GCRA, which a script of Redisson calls with the limit that it keeps. */
final class RedissonGcraProgram {
  public static void main(String[] args) throws Exception {
    var config = new Config();
    config.useSingleServer().setAddress("redis://" + args[0]);
    var redisson = Redisson.create(config);
    Limiter.serve(
        Redisson.class,
        key -> {
          RGcra limiter = redisson.getGcra("gcra-" + key);
          limiter.trySetRate(4, 5, Duration.ofSeconds(5));
          return () -> !limiter.tryAcquire().isLimited();
        });
  }
}
