package com.stintdb.client;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The state of a limit of another service, as the fields of its responses tell it.
 *
 * @param unit what it counts: "requests", "tokens", "input-tokens", "output-tokens", or the unit of a RateLimit-Policy
 * @param remaining how many are left
 * @param limit how many there can be, if that is known
 * @param resetAfter the time until the limit is full again, or its next window begins; null if it is not known
 */
public record ProviderLimit(String unit, long remaining, OptionalLong limit, @Nullable Duration resetAfter) {
    /** A set of fields without parameters: each has limit, remaining or reset in place of the * in its name. */
    private record Fields(String unit, String name) {}

    private static final List<Fields> SETS = List.of(
            new Fields("requests", "ratelimit-*"),
            new Fields("requests", "x-ratelimit-*"),
            new Fields("requests", "x-rate-limit-*"),
            new Fields("requests", "x-ratelimit-*-requests"), new Fields("tokens", "x-ratelimit-*-tokens"),
            new Fields("requests", "anthropic-ratelimit-requests-*"),
            new Fields("tokens", "anthropic-ratelimit-tokens-*"),
            new Fields("input-tokens", "anthropic-ratelimit-input-tokens-*"),
            new Fields("output-tokens", "anthropic-ratelimit-output-tokens-*"));

    private static final int LIKE_DRAFT = 3; // those that mean the same as RateLimit, and count only without it

    /** A longer reset is no duration, but a time since 1970. */
    private static final Duration LONGEST = Duration.ofSeconds(1_000_000_000);

    private static final Pattern INTEGER = Pattern.compile("[0-9]{1,15}");
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,15}(\\.[0-9]{1,9})?");
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,15}(?:\\.[0-9]{1,9})?)(ms|[smhd])");
    private static final Map<String, Long> MILLISECONDS =
            Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L);

    /**
     * Reads RateLimit with RateLimit-Policy, the fields with the prefixes RateLimit-, X-RateLimit- and X-Rate-Limit-,
     * and those of OpenAI and Anthropic. A value that cannot be read is left out, and a limit without a remaining is
     * none.
     *
     * @param fields of a response, such as {@code response.headers().map()}
     */
    public static List<ProviderLimit> read(Map<String, List<String>> fields, Instant now) {
        UnaryOperator<String> get = reader(fields);
        List<ProviderLimit> limits = readDraft(get, now);
        for (Fields set : SETS.subList(limits.isEmpty() ? 0 : LIKE_DRAFT, SETS.size())) {
            UnaryOperator<String> part = name -> get.apply(set.name.replace("*", name));
            add(limits, set.unit, part.apply("remaining"), part.apply("limit"), part.apply("reset"), now);
        }
        return List.copyOf(limits);
    }

    /**
     * The time for which a response asks for a pause: by Retry-After with a 429 or 503, or because nothing remains of a
     * limit.
     */
    static Duration pause(int status, Map<String, List<String>> fields, List<ProviderLimit> limits, Instant now) {
        boolean isRefusal = status == 429 || status == 503;
        Duration longest = isRefusal ? retryAfter(reader(fields).apply("retry-after"), now) : Duration.ZERO;
        for (ProviderLimit each : limits) {
            boolean isLonger = each.remaining == 0 && each.resetAfter != null && each.resetAfter.compareTo(longest) > 0;
            longest = isLonger ? each.resetAfter : longest;
        }
        return longest;
    }

    /** The time of a Retry-After, which is a number of seconds or a date; zero if it is neither. */
    private static Duration retryAfter(String text, Instant now) {
        if (INTEGER.matcher(text).matches()) {
            return Duration.ofSeconds(Long.parseLong(text));
        }
        Duration date = untilDate(text, now);
        return date == null ? Duration.ZERO : date;
    }

    private static UnaryOperator<String> reader(Map<String, List<String>> fields) {
        Map<String, String> all = new HashMap<>();
        fields.forEach((name, values) -> all.put(name.toLowerCase(Locale.ROOT), String.join(",", values).strip()));
        return name -> all.getOrDefault(name, "");
    }

    /** The limits of RateLimit (draft-ietf-httpapi-ratelimit-headers). */
    private static List<ProviderLimit> readDraft(UnaryOperator<String> get, Instant now) {
        Map<String, Map<String, String>> policies = itemsOf(get.apply("ratelimit-policy"));
        List<ProviderLimit> limits = new ArrayList<>();
        itemsOf(get.apply("ratelimit")).forEach((name, item) -> {
            Map<String, String> policy = policies.getOrDefault(name, Map.of());
            String unit = policy.getOrDefault("qu", "requests");
            String quota = policy.getOrDefault("q", "");
            add(limits, unit, item.getOrDefault("r", ""), quota, item.getOrDefault("t", ""), now);
        });
        return limits;
    }

    private static void add(
            List<ProviderLimit> limits, String unit, String remaining, String limit, String reset, Instant now) {
        if (INTEGER.matcher(remaining).matches()) {
            boolean isKnown = INTEGER.matcher(limit).matches();
            OptionalLong most = isKnown ? OptionalLong.of(Long.parseLong(limit)) : OptionalLong.empty();
            limits.add(new ProviderLimit(unit, Long.parseLong(remaining), most, readReset(reset, now)));
        }
    }

    /** The items of a list of structured fields, with their parameters. */
    private static Map<String, Map<String, String>> itemsOf(String list) {
        Map<String, Map<String, String>> items = new LinkedHashMap<>();
        for (String item : split(list, ',')) {
            List<String> parts = split(item, ';');
            Map<String, String> parameters = new HashMap<>();
            for (String part : parts.subList(1, parts.size())) {
                String[] pair = part.split("=", 2);
                parameters.put(pair[0], pair.length == 1 ? "" : unquoted(pair[1]));
            }
            items.put(unquoted(parts.get(0)), parameters);
        }
        return items;
    }

    /** Splits a list at a separator outside of quoted strings. */
    private static List<String> split(String list, char separator) {
        List<String> parts = new ArrayList<>();
        boolean isQuoted = false;
        int begin = 0;
        for (int i = 0; i < list.length(); i++) {
            char character = list.charAt(i);
            if (isQuoted && character == '\\') {
                i++;
            } else if (character == '"') {
                isQuoted = !isQuoted;
            } else if (!isQuoted && character == separator) {
                parts.add(list.substring(begin, i).strip());
                begin = i + 1;
            }
        }
        parts.add(list.substring(begin).strip());
        return parts;
    }

    private static String unquoted(String text) {
        boolean isQuoted = text.length() > 1 && text.startsWith("\"");
        return isQuoted ? text.substring(1, text.length() - 1).replaceAll("\\\\(.)", "$1") : text;
    }

    /** The time until a reset, which is seconds, a Unix time, a duration such as "6m0s", or a date. */
    private static @Nullable Duration readReset(String text, Instant now) {
        if (SECONDS.matcher(text).matches()) {
            Duration seconds = milliseconds(text, 1000);
            return seconds.compareTo(LONGEST) > 0 ? until(Instant.EPOCH.plus(seconds), now) : seconds;
        }
        Matcher parts = DURATION.matcher(text);
        Duration sum = Duration.ZERO;
        int read = 0;
        while (parts.find() && parts.start() == read) {
            sum = sum.plus(milliseconds(parts.group(1), MILLISECONDS.getOrDefault(parts.group(2), 0L)));
            read = parts.end();
        }
        return read > 0 && read == text.length() ? sum : untilDate(text, now);
    }

    /** A number of units, rounded up to milliseconds. */
    private static Duration milliseconds(String number, long unit) {
        BigDecimal ms = new BigDecimal(number).multiply(BigDecimal.valueOf(unit));
        return Duration.ofMillis(ms.setScale(0, RoundingMode.CEILING).longValueExact());
    }

    /** The time until a date of HTTP or of RFC 3339. */
    private static @Nullable Duration untilDate(String text, Instant now) {
        if (text.length() < "2026-01-01T00:00:00Z".length()) {
            return null;
        }
        boolean isOfHttp = Character.isLetter(text.charAt(0));
        DateTimeFormatter form = isOfHttp ? DateTimeFormatter.RFC_1123_DATE_TIME : DateTimeFormatter.ISO_OFFSET_DATE_TIME;
        try {
            return until(OffsetDateTime.parse(text, form).toInstant(), now);
        } catch (DateTimeException e) {
            return null;
        }
    }

    private static Duration until(Instant time, Instant now) {
        return time.isAfter(now) ? Duration.between(now, time) : Duration.ZERO;
    }
}
