package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.time.ZoneId;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The windows of the calendar. */
final class Calendar {
    private static final long DAY = 86_400_000;

    /** Their lengths in milliseconds, those of months, quarters and years as if they were all alike. */
    private static final Map<String, Long> LENGTHS = Map.of(
            "@minute", 60_000L, "@hour", 3_600_000L, "@day", DAY, "@week", 7 * DAY, "@month", 30 * DAY, "@quarter", 91 * DAY, "@year", 365 * DAY);

    private static final String DAY_OF_MONTH = "0?[1-9]|[12][0-9]";
    private static final String DATE =
            "(0?[13578]|1[02])-(" + DAY_OF_MONTH + "|3[01])|(0?[469]|11)-(" + DAY_OF_MONTH + "|30)|0?2-(" + DAY_OF_MONTH + ")";

    private static final String HOUR = "(0?[0-9]|1[0-9]|2[0-3])";
    private static final String MINUTE = ":[0-5][0-9]";

    /** The beginnings of the windows that may have another. */
    private static final Map<String, String> BEGINNINGS = new TreeMap<>(Map.of(
            "@day", HOUR + "(" + MINUTE + ")?",
            "@week", "(monday|tuesday|wednesday|thursday|friday|saturday|sunday)(t" + HOUR + MINUTE + ")?",
            "@month", "(0?[1-9]|[12][0-9]|3[01])(t" + HOUR + MINUTE + ")?",
            "@quarter", DATE,
            "@year", DATE));

    /** The names that this Java knows, in lower case: the server takes any. */
    private static final Set<String> ZONES = Stream.concat(ZoneId.getAvailableZoneIds().stream(), ZoneId.SHORT_IDS.keySet().stream())
            .map(zone -> zone.toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet());

    private Calendar() {}

    /** The length of a window such as "@day" or "@15m". */
    static double milliseconds(String window) {
        if (!window.startsWith("@")) {
            throw new InvalidException("window: must be such as \"@day\" or \"@15m\", or a Duration, got " + Rates.quote(window));
        }
        Long length = LENGTHS.get(window.toLowerCase(Locale.ROOT));
        return length != null ? length : Rates.duration(window.substring(1)).doubleValue() / 1e6;
    }

    /** TZ and FROM of a window. */
    static Map<LimitOption, Object> anchor(String window, @Nullable String zone, @Nullable String from) {
        if (zone == null && from == null) {
            return Map.of();
        }
        String beginning = BEGINNINGS.get(window.toLowerCase(Locale.ROOT));
        if (beginning == null) {
            throw new InvalidException("zone and from: the window must be one of " + String.join(" ", BEGINNINGS.keySet()) + ", got " + Rates.quote(window));
        }
        Map<LimitOption, Object> anchor = new EnumMap<>(LimitOption.class);
        if (zone != null) {
            if (!ZONES.contains(zone.toLowerCase(Locale.ROOT))) {
                throw new InvalidException("zone: must be a time zone that this Java knows, such as Europe/Berlin, got " + Rates.quote(zone));
            }
            anchor.put(LimitOption.TZ, zone);
        }
        if (from != null) {
            if (!from.toLowerCase(Locale.ROOT).matches(beginning)) {
                throw new InvalidException("from: no beginning of " + window + ", got " + Rates.quote(from));
            }
            anchor.put(LimitOption.FROM, from);
        }
        return anchor;
    }
}
