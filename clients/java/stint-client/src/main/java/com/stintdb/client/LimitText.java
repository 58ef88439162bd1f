package com.stintdb.client;

import com.stintdb.client.Limits.Numbers;
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

    private static final List<String> FIXED_WINDOW_OPTIONS = List.of("TZ", "FROM", "HISTORY", "ROLLOVER");

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
        return Limits.bucket(Algorithm.TOKEN_BUCKET, Math.max(1, (long) rate.count()), text, rate);
    }

    private static Limit spec(Algorithm algorithm, List<String> given, String text) {
        List<String> words = given;
        int before = words.size() - 2;
        if (before >= 0 && words.get(before + 1).equalsIgnoreCase("spread")) {
            return spec(algorithm, words.subList(0, before + 1), text).spread();
        }
        if (before > 1 && words.get(before).equalsIgnoreCase("warn")) {
            return spec(algorithm, words.subList(0, before), text).warn(percent("WARN", words.get(before + 1)));
        }
        if (algorithm == Algorithm.SLIDING_WINDOW && before == 3 && words.get(before).equalsIgnoreCase("segments")) {
            int segments = (int) Math.min(integer(words.get(before + 1)), Limit.MOST_SEGMENTS + 1);
            return spec(algorithm, words.subList(0, before), text).segments(segments);
        }
        if (algorithm == Algorithm.PENALTY && before == 4 && words.get(before).equalsIgnoreCase("doubling")) {
            return spec(algorithm, words.subList(0, before), text).doubling(words.get(before + 1));
        }
        int weight = 1;
        @Nullable String[] options = {null, null, null, null};
        if (algorithm.form == Algorithm.Form.RATE && words.size() == 5 && words.get(3).equalsIgnoreCase("per")) {
            words = List.of(words.get(0), words.get(1), String.join(" ", words.subList(2, 5)));
        } else if (algorithm == Algorithm.FAIR_SHARE && words.size() == 6 && words.get(4).equalsIgnoreCase("weight")) {
            weight = (int) Math.min(integer(words.get(5)), Limit.MOST_WEIGHT + 1);
            words = words.subList(0, 4);
        } else if (algorithm == Algorithm.FIXED_WINDOW && words.size() > 3) {
            options = options(words.subList(3, words.size()), text);
            words = words.subList(0, 3);
        }
        int takes = switch (algorithm.form) {
            case RATE, WINDOW -> 3;
            case BALANCE -> 1;
            default -> 4;
        };
        if (words.size() != takes) {
            throw new InvalidException(algorithm.spec() + " takes " + (takes - 1) + " words behind it, without the key, got " + Rates.quote(text));
        }
        Limit limit = limit(algorithm, words, weight, options);
        limit = options[2] == null ? limit : limit.history((int) Math.min(integer(options[2]), Limit.MOST_HISTORY + 1));
        return options[3] == null ? limit : limit.rollover(percent("ROLLOVER", options[3]));
    }

    private static Limit limit(Algorithm algorithm, List<String> words, int weight, @Nullable String[] options) {
        if (algorithm == Algorithm.BALANCE) {
            return Limit.balance();
        }
        long n = integer(words.get(1));
        String second = words.get(2);
        return switch (algorithm.form) {
            case BALANCE -> throw new IllegalStateException("has no words");
            case RATE -> Limits.bucket(algorithm, n, second, numbers(second));
            case GCRA -> Limit.gcra(n, integer(second), integer(words.get(3)));
            case PENALTY -> Limits.penalty(n, second, words.get(3));
            case LEASES -> Limits.places(n, second, milliseconds(second), words.get(3));
            case MEMBER -> Limits.bucket(Algorithm.TOKEN_BUCKET, n, second, numbers(second)).member(words.get(3), weight);
            case ADAPTIVE -> {
                Numbers least = numbers(second);
                Numbers most = numbers(words.get(3));
                yield Limits.adaptive(
                        Limits.bucket(Algorithm.TOKEN_BUCKET, n, words.get(3), most), second, least.count() * most.periodMs() / least.periodMs());
            }
            case WINDOW -> algorithm == Algorithm.FIXED_WINDOW && (second.startsWith("@") || options[0] != null || options[1] != null)
                    ? Limit.window(n, second, options[0], options[1])
                    : Limits.window(algorithm, n, second, milliseconds(second));
        };
    }

    /** The values of TZ, FROM, HISTORY and ROLLOVER behind a window. */
    private static @Nullable String[] options(List<String> words, String text) {
        @Nullable String[] options = {null, null, null, null};
        for (int i = 0; i < words.size(); i += 2) {
            int at = FIXED_WINDOW_OPTIONS.indexOf(words.get(i).toUpperCase(Locale.ROOT));
            if (at < 0 || options[at] != null || i + 1 == words.size()) {
                throw new InvalidException(
                        "FW takes a limit, a window, TZ with a zone, FROM with a beginning, HISTORY with a number and ROLLOVER, got " + Rates.quote(text));
            }
            options[at] = words.get(i + 1);
        }
        return options;
    }

    private static int percent(String option, String word) {
        if (!word.matches("[0-9]{1,3}%")) {
            throw new InvalidException(option + ": must be a percentage such as 80%, got " + Rates.quote(word));
        }
        return Integer.parseInt(word.substring(0, word.length() - 1));
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
