package com.stintdb.kafka;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.jspecify.annotations.Nullable;

/** The quotas of one type as kafka-configs.sh sets them, and which of them holds for a client: the same as without a callback. */
final class Quotas {
    static final String USER = "user";
    static final String CLIENT_ID = "client-id";

    private static final String DEFAULT = "<default>";

    /** Whom a quota is for: names, {@link #DEFAULT}, or "" for the part that it does not name. */
    private record Entity(String user, String client) {}

    private final Map<Entity, Double> all = new ConcurrentHashMap<>();

    void put(ClientQuotaEntity entity, double quota) {
        all.put(of(entity), quota);
    }

    void remove(ClientQuotaEntity entity) {
        all.remove(of(entity));
    }

    private static Entity of(ClientQuotaEntity entity) {
        String user = "";
        String client = "";
        for (ConfigEntity part : entity.configEntities()) {
            switch (part.entityType()) {
                case USER -> user = sanitized(part.name());
                case DEFAULT_USER -> user = DEFAULT;
                case CLIENT_ID -> client = part.name();
                case DEFAULT_CLIENT_ID -> client = DEFAULT;
            }
        }
        return new Entity(user, client);
    }

    /** The user's name as Kafka has it in metrics. */
    static String sanitized(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
    }

    /** The tags of the metric in which a client's use is counted: those of clients under the same quota are equal. */
    Map<String, String> tags(String user, String client) {
        for (Entity each : candidates(user, client)) {
            if (all.containsKey(each)) {
                return tagsOf(each.user.isEmpty() ? "" : user, each.client.isEmpty() ? "" : client);
            }
        }
        return tagsOf("", "");
    }

    private static Map<String, String> tagsOf(String user, String client) {
        Map<String, String> tags = new LinkedHashMap<>();
        tags.put(USER, user);
        tags.put(CLIENT_ID, client);
        return tags;
    }

    /** The quota of clients with these tags; null if there is none. */
    @Nullable Double quota(Map<String, String> tags) {
        String user = tags.getOrDefault(USER, "");
        String client = tags.getOrDefault(CLIENT_ID, "");
        for (Entity each : candidates(user, client)) {
            Double quota = all.get(each);
            if (quota != null && each.user.isEmpty() == user.isEmpty() && each.client.isEmpty() == client.isEmpty()) {
                return quota;
            }
        }
        return null;
    }

    /** The most specific first. */
    private static List<Entity> candidates(String user, String client) {
        return List.of(
                new Entity(user, client), new Entity(user, DEFAULT), new Entity(user, ""),
                new Entity(DEFAULT, client), new Entity(DEFAULT, DEFAULT), new Entity(DEFAULT, ""),
                new Entity("", client), new Entity("", DEFAULT));
    }
}
