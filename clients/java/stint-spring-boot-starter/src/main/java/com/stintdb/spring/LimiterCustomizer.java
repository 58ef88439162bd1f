package com.stintdb.spring;

import com.stintdb.client.LimiterBuilder;

/** Changes settings of the limiter that no property has, such as TLS, or the limits that a policy is assumed to have. Define beans of this type. */
@FunctionalInterface
public interface LimiterCustomizer {
    /** Changes the settings, before the limiter is built. */
    void customize(LimiterBuilder builder);
}
