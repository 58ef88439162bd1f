package com.stintdb.client;

import com.stintdb.client.Limit.Numbers;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Rates.Rate;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads limits as text. */
final class LimitText {
    private static final Pattern INTEGER = Pattern.compile("[0-9]{1,13}");

    private LimitText() {}

    static Limit parse(String text) {
        List<String> words = Arrays.stream(text.split("\\s+")).filter(word -> !word.isEmpty()).toList();
        if (!words.isEmpty()) {
            for (Algorithm algorithm : Algorithm.values()) {
                if (algorithm.spec().equals(words.get(0).toUpperCase(Locale.ROOT))) {
                    return spec(algorithm, words, text);
                }
            }
        }
        Numbers rate = numbers(text);
        return Limit.bucket(Algorithm.TOKEN_BUCKET, Math.max(1, (long) rate.count()), text, rate);
    }

    private static Limit spec(Algorithm algorithm, List<String> given, String text) {
        List<String> words = given;
        int weight = 1;
        @Nullable String[] anchor = {null, null};
        if (algorithm.form == Algorithm.Form.RATE && words.size() == 5 && words.get(3).equalsIgnoreCase("per")) {
            words = List.of(words.get(0), words.get(1), String.join(" ", words.subList(2, 5)));
        } else if (algorithm == Algorithm.FAIR_SHARE && words.size() == 6 && words.get(4).equalsIgnoreCase("weight")) {
            weight = (int) Math.min(integer(words.get(5)), Limit.MOST_WEIGHT + 1);
            words = words.subList(0, 4);
        } else if (algorithm == Algorithm.FIXED_WINDOW && words.size() > 3) {
            anchor = anchor(words.subList(3, words.size()), text);
            words = words.subList(0, 3);
        }
        int takes = switch (algorithm.form) {
            case RATE, WINDOW -> 3;
            default -> 4;
        };
        if (words.size() != takes) {
            throw new InvalidException(algorithm.spec() + " takes " + (takes - 1) + " words behind it, without the key, got " + Rates.quote(text));
        }
        return limit(algorithm, words, weight, anchor);
    }

    private static Limit limit(Algorithm algorithm, List<String> words, int weight, @Nullable String[] anchor) {
        long n = integer(words.get(1));
        String second = words.get(2);
        return switch (algorithm.form) {
            case RATE -> Limit.bucket(algorithm, n, second, numbers(second));
            case GCRA -> Limit.gcra(n, integer(second), integer(words.get(3)));
            case LEASES -> Limit.leases(n, second, milliseconds(second), words.get(3));
            case MEMBER -> Limit.bucket(Algorithm.TOKEN_BUCKET, n, second, numbers(second)).member(words.get(3), weight);
            case ADAPTIVE -> {
                Numbers least = numbers(second);
                Numbers most = numbers(words.get(3));
                yield Limit.bucket(Algorithm.TOKEN_BUCKET, n, words.get(3), most).between(second, least.count() * most.periodMs() / least.periodMs());
            }
            case WINDOW -> algorithm == Algorithm.FIXED_WINDOW && (second.startsWith("@") || anchor[0] != null || anchor[1] != null)
                    ? Limit.window(n, second, anchor[0], anchor[1])
                    : Limit.window(algorithm, n, second, milliseconds(second));
        };
    }

    /** The values of TZ and FROM behind a window. */
    private static @Nullable String[] anchor(List<String> words, String text) {
        @Nullable String[] anchor = {null, null};
        for (int i = 0; i < words.size(); i += 2) {
            int at = words.get(i).equalsIgnoreCase("tz") ? 0 : words.get(i).equalsIgnoreCase("from") ? 1 : -1;
            if (at < 0 || anchor[at] != null || i + 1 == words.size()) {
                throw new InvalidException("FW takes a limit, a window, TZ with a zone and FROM with a beginning, got " + Rates.quote(text));
            }
            anchor[at] = words.get(i + 1);
        }
        return anchor;
    }

    private static Numbers numbers(String text) {
        Rate rate = Rates.rate(text);
        return new Numbers(0, rate.tokens().value(), rate.period().value() / 1e6);
    }

    private static double milliseconds(String text) {
        return Rates.duration(text).doubleValue() / 1e6;
    }

    private static long integer(String word) {
        if (!INTEGER.matcher(word).matches()) {
            throw new InvalidException("must be an integer between 0 and " + Rates.MOST_TOKENS + ", got " + Rates.quote(word));
        }
        return Long.parseLong(word);
    }
}
