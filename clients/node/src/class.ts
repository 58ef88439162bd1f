import { mustBeList } from "./arguments.js";
import { count } from "./count.js";
import type { Word } from "./driver.js";
import { InvalidError } from "./errors.js";
import { nameOf, shortKey } from "./key.js";
import { type LimitLike, limitOf } from "./limit.js";
import { type Known, mustKnow } from "./options.js";
import { type Key, type Keyed, keyedParts } from "./request.js";

const mostAncestors = 3;

/**
 * A class in a tree, such as a plan or a team (HT.ACQUIRE). It gets its assured tokens, and borrows up to its ceiling. All limits are token
 * buckets. While Stint is down, {@link localShare} keeps to its share of the ceiling and of each ancestor, and assures nothing.
 */
export interface Class {
    key: Key;
    assured: LimitLike;
    ceiling: LimitLike;
    /** The 1 to 3 ancestors, the parent first and the root last. */
    under: readonly Keyed[];
}

const classParts = { key: true, assured: true, ceiling: true, under: true } satisfies Known<Class>;

/** The command for tokens of a class. It throws {@link InvalidError} for trees that the server refuses. */
export function classWords(tree: Class, tokens: number): Word[] {
    mustKnow(tree, classParts, "a class");
    const { key, assured, ceiling, under } = tree;
    mustBeList(under, "under");
    if (under.length < 1 || under.length > mostAncestors) {
        throw new InvalidError(`under: a class has 1 to ${mostAncestors} ancestors, got ${under.length}`);
    }
    const words: Word[] = ["HT.ACQUIRE", shortKey(key), ...bucketWords("assured", assured), ...bucketWords("ceiling", ceiling)];
    const seen = new Set([nameOf(key)]);
    for (const node of under) {
        mustKnow(node, keyedParts, "an ancestor");
        const name = nameOf(node.key);
        if (seen.has(name)) {
            throw new InvalidError(`under: ${JSON.stringify(name)} is named twice between the class and the root`);
        }
        seen.add(name);
        if (node.cost !== undefined || node.keep !== undefined) {
            throw new InvalidError(`under: an ancestor has no cost and no keep, got them for ${JSON.stringify(name)}`);
        }
        words.push("UNDER", shortKey(node.key), ...bucketWords("under", node.limit));
    }
    return [...words, "TOKENS", count(tokens, "tokens")];
}

function bucketWords(name: string, limit: LimitLike): readonly Word[] {
    const own = limitOf(limit);
    if (own.algorithm !== "tokenBucket") {
        throw new InvalidError(`${name}: must be a token bucket, such as perSecond(10).burst(20), got ${own.algorithm}`);
    }
    return own.words;
}
