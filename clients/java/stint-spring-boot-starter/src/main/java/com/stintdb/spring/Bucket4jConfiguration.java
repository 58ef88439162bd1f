package com.stintdb.spring;

import com.stintdb.bucket4j.StintProxyManager;
import com.stintdb.client.Limiter;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Bucket4j's manager of buckets, which Spring Cloud Gateway's filter Bucket4j for WebMVC asks for. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(StintProxyManager.class)
class Bucket4jConfiguration {
    @Bean
    @ConditionalOnMissingBean
    AsyncProxyManager<String> stintProxyManager(Limiter limiter) {
        return StintProxyManager.of(limiter).asAsync();
    }
}
