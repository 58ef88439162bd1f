package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The credits of a balance.
 *
 * @param balance below zero while it is in debt
 * @param grants in the order in which they are spent
 */
public record Credits(long balance, List<Grant> grants) {
    /**
     * What is left of the credits that expire at one time.
     *
     * @param left credits
     * @param expires null if they never do
     */
    public record Grant(long left, @Nullable Instant expires) {}

    static Words adding(Key key, long credits, Key payment, @Nullable Instant expires) {
        if (payment.isEmpty()) {
            throw new InvalidException("payment: must not be empty: all payments with it would be one");
        }
        Words words = new Words("BAL.ADD").add(key).add(Rates.count(credits, "credits", 1)).add("AS").add(payment);
        return expires == null ? words : words.add("EXPIRE").add(expires.getEpochSecond());
    }

    /** The credits in the reply of BAL.INFO, or null. */
    static @Nullable Credits of(@Nullable Object reply) {
        if (reply == null) {
            return null;
        }
        Map<Object, @Nullable Object> fields = Replies.fields(reply);
        List<Grant> grants = new ArrayList<>();
        for (Object each : Replies.list(fields.get("grants"), -1)) {
            List<@Nullable Object> grant = Replies.list(each, 2);
            Object expires = grant.get(1);
            grants.add(new Grant(
                    Replies.integer(grant.get(0), reply), expires == null ? null : Instant.ofEpochSecond(Replies.integer(expires, reply))));
        }
        return new Credits(Replies.integer(fields.get("balance"), reply), List.copyOf(grants));
    }
}
