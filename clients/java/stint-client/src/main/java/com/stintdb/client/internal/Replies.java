package com.stintdb.client.internal;

import com.stintdb.client.RefusedException;
import com.stintdb.client.StintException;
import com.stintdb.client.UnauthenticatedException;
import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads replies. One is a {@link Long}, a {@link String}, null, or a list of replies; an error reply is an exception. */
public final class Replies {
    /** Beginnings of error replies of a server that cannot decide. All others are about the request, and refuse it. */
    private static final List<String> BUSY = List.of(
            "CLUSTERDOWN ", "UPSTREAM ", "LOADING ", "TRYAGAIN ", "MASTERDOWN ", "READONLY ", "NOREPLICAS ", "MISCONF ", "NOTKEPT ", "BUSY ",
            "MOVED ", "ASK ", "ERR max number of clients", "OOM ", "LIMITED ");

    private static final List<String> UNAUTHENTICATED = List.of("NOAUTH ", "WRONGPASS ", "DENIED ", "ERR AUTH ", "ERR too many failed logins");

    private Replies() {}

    /** The exception for an error reply. */
    public static StintException errorOf(String text) {
        if (BUSY.stream().anyMatch(text::startsWith)) {
            return new UnavailableException(Reason.BUSY, text);
        }
        if (text.startsWith("UNCERTAIN ")) {
            return new UnavailableException(Reason.UNCERTAIN, text);
        }
        if (UNAUTHENTICATED.stream().anyMatch(text::startsWith)) {
            return new UnauthenticatedException(text);
        }
        return new RefusedException(text.startsWith("ERR unknown command") ? "is this a Stint server? " + text : text);
    }

    /** The exception about a reply of another form. */
    public static RefusedException unknownForm(@Nullable Object reply) {
        return new RefusedException("the reply has an unknown form; is this a Stint server? " + reply);
    }

    /** A reply that is a list. */
    public static List<@Nullable Object> list(@Nullable Object reply, int size) {
        if (!(reply instanceof List<?> list) || (size >= 0 && list.size() != size)) {
            throw unknownForm(reply);
        }
        @SuppressWarnings("unchecked") // a list of a reply has replies
        List<@Nullable Object> replies = (List<@Nullable Object>) list;
        return replies;
    }

    /** A reply of names and values by turns. */
    public static Map<Object, @Nullable Object> fields(@Nullable Object reply) {
        List<@Nullable Object> words = list(reply, -1);
        Map<Object, @Nullable Object> fields = new HashMap<>();
        for (int i = 0; i + 1 < words.size(); i += 2) {
            fields.put(String.valueOf(words.get(i)), words.get(i + 1));
        }
        return fields;
    }

    /** A reply of so many integers. */
    public static long[] integers(@Nullable Object reply, int size) {
        List<@Nullable Object> list = list(reply, size);
        long[] numbers = new long[size];
        for (int i = 0; i < size; i++) {
            numbers[i] = integer(list.get(i), reply);
        }
        return numbers;
    }

    /** An integer in a reply. */
    public static long integer(@Nullable Object number, @Nullable Object reply) {
        if (number instanceof Long n) {
            return n;
        }
        throw unknownForm(reply);
    }
}
