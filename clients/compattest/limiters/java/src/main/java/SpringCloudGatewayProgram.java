import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.cloud.gateway.filter.ratelimit.RedisRateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.ReactiveStringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;

final class SpringCloudGatewayProgram {
  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    String[] address = args[0].split(":");
    var connections = new LettuceConnectionFactory(address[0], Integer.parseInt(address[1]));
    connections.start();
    var template = new ReactiveStringRedisTemplate(connections);
    RedisScript<?> script = RedisScript.of(new ClassPathResource("META-INF/scripts/request_rate_limiter.lua"), List.class);
    Limiter.serve(
        RedisRateLimiter.class,
        key -> {
          var limiter =
              new RedisRateLimiter(
                  template,
                  (RedisScript<List<Long>>) script,
                  new ConfigurationService((BeanFactory) null, () -> null, () -> null));
          limiter.getConfig().put("route", new RedisRateLimiter.Config().setReplenishRate(1).setBurstCapacity(5));
          return () -> limiter.isAllowed("route", key).block().isAllowed();
        });
  }
}
