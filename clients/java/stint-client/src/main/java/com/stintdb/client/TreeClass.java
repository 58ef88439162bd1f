package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A class in a tree, such as a plan or a team (HT.ACQUIRE). It gets its assured tokens, and borrows up to its ceiling. All limits are token buckets.
 * While Stint is down, {@link Policy#localShare} keeps to its share of the ceiling and of each ancestor, and assures nothing.
 *
 * @param key of the class
 * @param assured the tokens that it always gets
 * @param ceiling the most that it gets
 * @param under the 1 to 3 ancestors, the parent first and the root last
 */
public record TreeClass(Key key, Limit assured, Limit ceiling, List<Keyed> under) {
    private static final int MOST_ANCESTORS = 3;

    /** Throws {@link InvalidException} for a tree that the server refuses. */
    public TreeClass {
        under = List.copyOf(under);
        if (under.isEmpty() || under.size() > MOST_ANCESTORS) {
            throw new InvalidException("under: a class has 1 to " + MOST_ANCESTORS + " ancestors, got " + under.size());
        }
        mustBeBucket("assured", assured);
        mustBeBucket("ceiling", ceiling);
        Set<Key> seen = new HashSet<>(Set.of(key));
        for (Keyed node : under) {
            mustBeBucket("under", node.limit);
            if (!seen.add(node.key)) {
                throw new InvalidException("under: " + Rates.quote(node.key.toString()) + " is named twice between the class and the root");
            }
            if (node.cost != null || node.keep != null) {
                throw new InvalidException("under: an ancestor has no cost and no keep, got them for " + Rates.quote(node.key.toString()));
            }
        }
    }

    /** A class. */
    public static TreeClass of(String key, Limit assured, Limit ceiling, Keyed... under) {
        return new TreeClass(Key.of(key), assured, ceiling, List.of(under));
    }

    private static void mustBeBucket(String name, Limit limit) {
        if (limit.algorithm() != Algorithm.TOKEN_BUCKET || limit.warns()) {
            throw new InvalidException(name + ": must be a token bucket without warn, such as Limit.perSecond(10).burst(20), got " + limit);
        }
    }
}
