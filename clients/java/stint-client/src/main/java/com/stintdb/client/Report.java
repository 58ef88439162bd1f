package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The news of some calls of a backend, for {@link Limiter#report}. It never changes: each method returns another report. */
public final class Report {
    /** The words behind the key. */
    final List<Object> words;

    private Report(List<Object> words) {
        this.words = words;
    }

    /**
     * Good calls went well; bad ones asked for a lower rate: 429, 503, an answer that came too late. It throws {@link InvalidException} for numbers below
     * 0.
     */
    public static Report of(long good, long bad) {
        for (long n : new long[] {good, bad}) {
            if (n < 0) {
                throw new InvalidException((n == good ? "good" : "bad") + ": must be an integer of at least 0, got " + n);
            }
        }
        return new Report(List.of(good, bad));
    }

    /** The time between two changes of the rate, 1 s by default. */
    public Report every(Duration time) {
        return with("EVERY", Rates.milliseconds(time, "every") + "ms");
    }

    /** The percentage of the rate that is left after bad calls, above 0 and below 100, 80 by default. */
    public Report down(double percent) {
        return with("DOWN", percent("down", percent, 99_999));
    }

    /** The percentage of the highest rate that is added after good calls alone, above 0 and at most 100, 5 by default. */
    public Report up(double percent) {
        return with("UP", percent("up", percent, 100_000));
    }

    /** A time in which nothing is granted to anybody, such as a Retry-After. The longest wins. */
    public Report pause(Duration time) {
        return time.isZero() ? this : with("PAUSE", Rates.milliseconds(time, "pause") + "ms");
    }

    private Report with(String name, String value) {
        List<Object> all = new ArrayList<>(words);
        all.add(name);
        all.add(value);
        return new Report(List.copyOf(all));
    }

    private static String percent(String name, double percent, long most) {
        double thousandths = Math.rint(percent * 1000);
        if (!(thousandths > 0 && thousandths <= most)) {
            throw new InvalidException(name + ": must be a percentage above 0 and at most " + most / 1000.0 + ", got " + percent);
        }
        return BigDecimal.valueOf((long) thousandths, 3).setScale(3, RoundingMode.UNNECESSARY).stripTrailingZeros().toPlainString() + "%";
    }
}
