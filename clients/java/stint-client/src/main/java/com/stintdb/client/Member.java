package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An active member of a fair share.
 *
 * @param name of the member
 * @param weight of the member
 * @param taken tokens that the refill has not given back to it yet
 */
public record Member(String name, long weight, long taken) {
    /** The members in the reply of FS.MEMBERS. */
    static List<Member> listOf(@Nullable Object reply) {
        List<Member> members = new ArrayList<>();
        for (Object each : Replies.list(reply, -1)) {
            List<@Nullable Object> parts = Replies.list(each, 3);
            members.add(new Member(String.valueOf(parts.get(0)), Replies.integer(parts.get(1), reply), Replies.integer(parts.get(2), reply)));
        }
        return List.copyOf(members);
    }
}
