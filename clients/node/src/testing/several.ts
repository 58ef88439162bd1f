import { ofReply } from "../errors.js";
import { rounded } from "./commands.js";
import { type Fraction, zero } from "./fraction.js";
import { type FakeLimit, lacks, lengthOf, number, read, rowOfSpec } from "./limits.js";
import type { Decision } from "./decision.js";
import type { Store } from "./store.js";

/** One of several limits. Without a cost it is asked for the tokens of the request. */
export interface Part {
    key: string;
    limit: FakeLimit;
    cost?: bigint;
}

/** RL.ALL. */
export function all(store: Store, given: readonly string[]): unknown {
    const words = [...given], parts: Part[] = [];
    let tokens = 1n, isPeek = false;
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        const row = rowOfSpec(word), last = parts.at(-1);
        if (row) {
            const [key = "", ...own] = words.splice(0, 1 + lengthOf(row));
            parts.push({ key, limit: read(row, own) });
        } else if (word === "TOKENS") {
            tokens = number(words.shift() ?? "", 1n);
        } else if (word === "COST" && last) {
            last.cost = number(words.shift() ?? "");
        } else if (word === "PEEK") {
            isPeek = true;
        } else {
            throw lacks(`${word} in RL.ALL`);
        }
    }
    return take(store, parts, tokens, isPeek);
}

/** RL.CHECK, of the limits that the policies have for a caller. */
export function check(store: Store, given: readonly string[], limitsOf: (policy: string, names: ReadonlyMap<string, string>) => Part[]): unknown {
    const [policy = "", id = "", n = "", ...words] = given, names = new Map([["", id]]), tokens = number(n, 1n);
    let isPeek = false;
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        if (word === "WITH") {
            while (words.length > 0) {
                const [name = "", value = ""] = words.splice(0, 2);
                names.set(name, value);
            }
        } else if (word === "PEEK") {
            isPeek = true;
        } else if (word !== "WARN" && word !== "SPLIT") { // which no limit here shows
            throw lacks(`${word} in RL.CHECK`);
        }
    }
    return take(store, limitsOf(policy, names), tokens, isPeek);
}

/** Takes tokens of each limit, or of none. */
function take(store: Store, parts: readonly Part[], tokens: bigint, isPeek: boolean): unknown {
    if (new Set(parts.map(({ key }) => key)).size < parts.length) {
        throw ofReply("ERR spec: the same key twice; each limit needs a different key");
    }
    const decisions = parts.map(({ key, limit, cost: own }) => {
        const asked = own ?? tokens, cost = limit.row.isOnePlace && asked > 1n ? 1n : asked;
        return { key, limit, cost, decision: store.ask(key, limit, { n: cost }) };
    });
    let binding = -1, wait: Fraction | null = zero;
    for (const [i, { cost, decision }] of decisions.entries()) {
        if (cost > 0n && decision.granted === 0n && (binding < 0 || isLonger(decision.wait, wait))) {
            binding = i;
            wait = decision.wait;
        }
    }
    const states = decisions.map(({ key, limit, cost, decision }) => {
        const isTaken = binding < 0 && cost > 0n, state = isTaken ? decision : store.look(key, limit);
        if (isTaken && !isPeek) {
            store.keep(key, limit, decision.state);
        }
        return stateOf(limit, state);
    });
    return [binding < 0 ? Number(tokens) : 0, binding, rounded(wait), states];
}

/** The limit, the tokens that remain, and the time until all are back. */
function stateOf(limit: FakeLimit, { remaining, reset }: Decision): number[] {
    return [Number(limit.tokens), Number(remaining > 0n ? remaining : 0n), rounded(reset)];
}

function isLonger(a: Fraction | null, b: Fraction | null): boolean { return b !== null && (a === null || a.isAbove(b)); }
