package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.util.regex.Pattern;

/** What must remain of a limit after a grant: for others, or for more important requests. */
public final class Keep {
    private static final Pattern PERCENT = Pattern.compile("[0-9]+(\\.[0-9]{1,3})?%");

    private final Object word;

    private Keep(Object word) {
        this.word = word;
    }

    /** So many tokens. It throws {@link InvalidException} below 0. */
    public static Keep tokens(long tokens) {
        return new Keep(Rates.count(tokens, "keep", 0));
    }

    /** A percentage of the limit such as "10%", with at most three decimals. It throws {@link InvalidException} for any other text. */
    public static Keep percent(String percent) {
        if (percent.length() > 100 || !PERCENT.matcher(percent).matches() || Double.parseDouble(percent.substring(0, percent.length() - 1)) > 100) {
            throw new InvalidException("keep: must be a percentage such as \"10%\", got " + Rates.quote(percent));
        }
        return new Keep(percent);
    }

    /** The word behind KEEP. */
    Object word() {
        return word;
    }
}
