package com.stintdb.kafka;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.server.quota.ClientQuotaType;

/** The rates that the broker of this process has measured, by JMX: a callback is not told how many bytes there were. */
final class BrokerRates {
    private static final Pattern PLAIN = Pattern.compile("[\\w\\-%. \t]*"); // values that Kafka's names have without quotation marks

    private BrokerRates() {}

    /** Bytes a second over the broker's quota windows; NaN if it is not known, as without a JmxReporter. */
    static double of(ClientQuotaType type, Map<String, String> tags) {
        StringBuilder name = new StringBuilder("kafka.server:type=").append(type == ClientQuotaType.PRODUCE ? "Produce" : "Fetch");
        tags.forEach((tag, value) -> {
            if (!value.isEmpty()) {
                name.append(',').append(tag).append('=').append(PLAIN.matcher(value).matches() ? value : ObjectName.quote(value));
            }
        });
        try {
            Object rate = ManagementFactory.getPlatformMBeanServer().getAttribute(new ObjectName(name.toString()), "byte-rate");
            return rate instanceof Double bytes ? bytes : Double.NaN;
        } catch (JMException e) {
            return Double.NaN;
        }
    }
}
