package com.stintdb.kafka;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Range;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;

/** The settings of {@link StintQuotaCallback} in server.properties. */
final class QuotaSettings {
    private static final String ADDRESSES = "stint.quota.addresses";
    private static final String WHEN_DOWN = "stint.quota.when.down";
    private static final String TIMEOUT = "stint.quota.timeout.ms";
    private static final String PREFIX = "stint.quota.prefix";
    private static final String PERIOD = "stint.quota.period.ms";

    private static final String WINDOWS = "quota.window.num";
    private static final String WINDOW = "quota.window.size.seconds";

    private static final ConfigDef DEFINITION = new ConfigDef()
            .define(ADDRESSES, Type.LIST, "redis://127.0.0.1:6379", Importance.HIGH, "Addresses of Stint, or of some nodes of its cluster.")
            .define(WHEN_DOWN, Type.STRING, "", Importance.HIGH, "What holds while Stint does not answer: fail-open, fail-closed or local-share.")
            .define(TIMEOUT, Type.INT, 100, Range.between(1, 1000), Importance.LOW, "Milliseconds to wait for Stint, beside requests.")
            .define(PREFIX, Type.STRING, "kafka", Importance.LOW, "The beginning of keys at Stint; another one for each cluster of Kafka.")
            .define(WINDOWS, Type.INT, 11, Range.atLeast(2), Importance.LOW, "Kafka's own: windows over which it measures rates.")
            .define(WINDOW, Type.INT, 1, Range.atLeast(1), Importance.LOW, "Kafka's own: seconds of a window.")
            .define(PERIOD, Type.INT, 1000, Range.between(100, 2000), Importance.LOW, "Milliseconds between two renewals of a loan.");

    final WhenDown whenDown;
    final long periodMs;
    final double windowS; // over which Kafka measures rates
    final String prefix;
    private final List<String> addresses;
    private final Duration timeout;

    /** Throws {@link ConfigException} for values that are wrong. */
    QuotaSettings(Map<String, ?> configs) {
        AbstractConfig config = new AbstractConfig(DEFINITION, configs, false);
        this.whenDown = whenDown(config.getString(WHEN_DOWN));
        this.periodMs = config.getInt(PERIOD);
        this.windowS = (config.getInt(WINDOWS) - 1.0) * config.getInt(WINDOW);
        this.prefix = config.getString(PREFIX);
        this.addresses = config.getList(ADDRESSES);
        this.timeout = Duration.ofMillis(config.getInt(TIMEOUT));
    }

    private static WhenDown whenDown(String text) {
        for (WhenDown each : WhenDown.values()) {
            if (each.name().toLowerCase(Locale.ROOT).replace('_', '-').equals(text)) {
                return each;
            }
        }
        throw new ConfigException(WHEN_DOWN, text, "must be fail-open, fail-closed or local-share; there is no default, because it decides what an outage means");
    }

    /** A limiter whose policy is not asked: loans have none. */
    Limiter connect() {
        try {
            return Limiter.builder(Policy.failClosed(), addresses.toArray(String[]::new)).timeout(timeout).build();
        } catch (InvalidException e) {
            throw new ConfigException(ADDRESSES + ": " + e.getMessage());
        }
    }
}
