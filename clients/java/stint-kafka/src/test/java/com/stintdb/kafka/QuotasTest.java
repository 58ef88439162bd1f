package com.stintdb.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ClientQuotaManager.KafkaQuotaEntity;
import org.apache.kafka.server.quota.QuotaType;
import org.junit.jupiter.api.Test;

/** Which quota holds for a client, compared with Kafka's own rules; and the settings. */
class QuotasTest {
    private record Level(Optional<ConfigEntity> user, Optional<ConfigEntity> client) {}

    @Test
    void precedenceIsThatOfKafka() {
        List<Optional<ConfigEntity>> users = List.of(
                Optional.of(new ClientQuotaManager.UserEntity(Quotas.sanitized("al ice*~"))), Optional.of(ClientQuotaManager.DEFAULT_USER_ENTITY), Optional.empty());
        List<Optional<ConfigEntity>> clients = List.of(
                Optional.of(new ClientQuotaManager.ClientIdEntity("app")), Optional.of(ClientQuotaManager.DEFAULT_USER_CLIENT_ID), Optional.empty());
        List<Level> levels = users.stream().flatMap(user -> clients.stream().map(client -> new Level(user, client)))
                .filter(level -> level.user.isPresent() || level.client.isPresent()).toList();
        try (Metrics metrics = new Metrics()) {
            // It looks at the kinds of quotas that were set at some time, so every kind is set once.
            ClientQuotaManager kafka = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, QuotaType.PRODUCE, Time.SYSTEM, "");
            Quotas quotas = new Quotas();
            for (int set = 0; set < 1 << levels.size(); set++) {
                for (int i = 0; i < levels.size(); i++) {
                    Level level = levels.get(i);
                    boolean isSet = (set >> i & 1) == 1;
                    double quota = 1000 + i;
                    kafka.updateQuota(level.user, level.client, isSet ? Optional.of(Quota.upperBound(quota)) : Optional.empty());
                    KafkaQuotaEntity entity = new KafkaQuotaEntity(level.user.orElse(null), level.client.orElse(null));
                    if (isSet) {
                        quotas.put(entity, quota);
                    } else {
                        quotas.remove(entity);
                    }
                }
                for (String user : List.of("al ice*~", "bob")) {
                    for (String client : List.of("app", "other")) {
                        Double quota = quotas.quota(quotas.tags(Quotas.sanitized(user), client));
                        assertEquals(kafka.quota(user, client).bound(), quota == null ? Long.MAX_VALUE : quota, user + " " + client + " with set " + set);
                    }
                }
            }
            kafka.shutdown();
        }
    }

    private static void assertRefused(String message, Map<String, ?> configs) {
        StintQuotaCallback callback = new StintQuotaCallback();
        assertEquals(message, assertThrows(ConfigException.class, () -> callback.configure(configs)).getMessage());
        callback.close();
    }

    @Test
    void badSettingsAreNamedWithTheRemedy() {
        assertRefused("Invalid value  for configuration stint.quota.when.down: must be fail-open, fail-closed or local-share; there is no default, because it "
                + "decides what an outage means", Map.of());
        assertRefused("Invalid value 5 for configuration stint.quota.period.ms: Value must be at least 100",
                Map.of("stint.quota.when.down", "fail-open", "stint.quota.period.ms", "5"));
        assertRefused("stint.quota.addresses: address: must be such as redis://127.0.0.1:6379, got \"stint\": URI scheme must not be null",
                Map.of("stint.quota.when.down", "fail-open", "stint.quota.addresses", "stint"));
    }
}
