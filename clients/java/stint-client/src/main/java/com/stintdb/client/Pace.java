package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of an adaptive limit.
 *
 * @param perSecond its rate, in tokens a second
 * @param pauseMs milliseconds of its pause that are left
 */
public record Pace(double perSecond, long pauseMs) {
    /** The state in the reply of AD.REPORT. */
    static @Nullable Pace of(@Nullable Object reply) {
        if (reply == null) {
            return null;
        }
        List<@Nullable Object> parts = Replies.list(reply, 2);
        try {
            return new Pace(Double.parseDouble(String.valueOf(parts.get(0))), Replies.integer(parts.get(1), reply));
        } catch (NumberFormatException e) {
            throw Replies.unknownForm(reply);
        }
    }
}
