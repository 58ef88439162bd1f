package com.stintdb.client.web;

import com.stintdb.client.InvalidException;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/** A set of fields of responses that tell what is left of a limit. */
public enum FieldStyle {
    /** RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10. */
    DRAFT_10("draft-10"),
    /** The same: those of -11 are equal. */
    DRAFT_11("draft-11"),
    /** RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of the drafts up to -06. */
    DRAFT_6("draft-6"),
    /** X-RateLimit-Limit, X-RateLimit-Remaining, and X-RateLimit-Reset in seconds from now. */
    X_RATELIMIT("x-ratelimit"),
    /** The same with X-RateLimit-Reset as a Unix time. */
    X_RATELIMIT_DATE("x-ratelimit-date");

    /** What a guard sends if nothing else was chosen. */
    static final Set<FieldStyle> USUAL = Set.of(DRAFT_10, X_RATELIMIT);

    private final String word;

    FieldStyle(String word) {
        this.word = word;
    }

    /** The style that the server's --ratelimit-fields has by this name. */
    public static FieldStyle of(String word) {
        for (FieldStyle style : values()) {
            if (style.word.equals(word)) {
                return style;
            }
        }
        throw new InvalidException("fields: must be of " + Arrays.stream(values()).map(s -> s.word).collect(Collectors.joining(", ")) + ", got " + word);
    }

    static Set<FieldStyle> set(Collection<FieldStyle> given) {
        Set<FieldStyle> styles = EnumSet.noneOf(FieldStyle.class);
        styles.addAll(given);
        if (styles.contains(X_RATELIMIT) && styles.contains(X_RATELIMIT_DATE)) {
            throw new InvalidException("fields: must have x-ratelimit or x-ratelimit-date, got both");
        }
        return styles;
    }
}
