package com.stintdb.spring;

import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import java.util.Map;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application with the starter and nothing that the starter may do without. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class BareApplication {
    /** A limited method. */
    public static class Shop {
        /** Does nothing. */
        @RateLimited(policy = "calls", id = "'all'")
        public void order() {}
    }

    @Bean
    Limiter limiter() {
        FakeServer server = new FakeServer();
        server.setPolicy("calls", Map.of("{}", Limit.perMinute(1)));
        return server.limiter(Policy.failOpen()).build();
    }

    @Bean
    Shop shop() {
        return new Shop();
    }

    /** Throws if the second call is not denied. */
    public static void main(String[] arguments) {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(BareApplication.class)
                .properties("spring.main.banner-mode=off", "logging.level.root=warn", "stint.filter.policy=calls").run()) {
            Shop shop = context.getBean(Shop.class);
            shop.order();
            try {
                shop.order();
            } catch (RateLimitedException denied) {
                return;
            }
            throw new IllegalStateException("the second call was not denied");
        }
    }
}
