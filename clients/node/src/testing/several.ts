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
    /** It gives what the limits before it cannot. */
    isElse?: boolean;
}

/** The words of a request that stand for themselves. */
type Flags = ReadonlySet<string>;

const flags = ["PEEK", "SPLIT", "ELSE"];

/** RL.ALL. */
export function all(store: Store, given: readonly string[]): unknown {
    const words = [...given], parts: Part[] = [];
    const seen = new Set<string>();
    let tokens = 1n;
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        const row = rowOfSpec(word), last = parts.at(-1);
        if (row) {
            const [key = "", ...own] = words.splice(0, 1 + lengthOf(row));
            parts.push({ key, limit: read(row, own, words), isElse: seen.has("ELSE") });
        } else if (word === "TOKENS") {
            tokens = number(words.shift() ?? "", 1n);
        } else if (word === "COST" && last) {
            last.cost = number(words.shift() ?? "");
        } else if (flags.includes(word)) {
            seen.add(word);
        } else {
            throw lacks(`${word} in RL.ALL`);
        }
    }
    return take(store, parts, tokens, seen);
}

/** RL.CHECK, of the limits that the policies have for a caller. */
export function check(store: Store, given: readonly string[], limitsOf: (policy: string, names: ReadonlyMap<string, string>) => Part[]): unknown {
    const [policy = "", id = "", n = "", ...words] = given, names = new Map([["", id]]), tokens = number(n, 1n);
    const seen = new Set<string>();
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        if (word === "WITH") {
            while (words.length > 0) {
                const [name = "", value = ""] = words.splice(0, 2);
                names.set(name, value);
            }
        } else if (word === "PEEK" || word === "SPLIT") {
            seen.add(word);
        } else if (word !== "WARN") { // which no limit here shows
            throw lacks(`${word} in RL.CHECK`);
        }
    }
    return take(store, limitsOf(policy, names), tokens, seen);
}

/** Takes tokens of each limit, or of none. */
function take(store: Store, parts: readonly Part[], tokens: bigint, seen: Flags): unknown {
    if (new Set(parts.map(({ key }) => key)).size < parts.length) {
        throw ofReply("ERR spec: the same key twice; each limit needs a different key");
    }
    if (parts.slice(0, -1).some(({ limit }) => limit.row.form === "balance")) {
        throw ofReply("ERR BAL: must be the last limit");
    }
    const decisions = decideAll(store, divided(store, parts, tokens), tokens);
    let binding = -1, wait: Fraction | null = zero;
    for (const [i, { cost, decision }] of decisions.entries()) {
        if (cost > 0n && decision.granted === 0n && (binding < 0 || isLonger(decision.wait, wait))) {
            binding = i;
            wait = decision.wait;
        }
    }
    const denying = decisions[binding];
    if (denying && parts[binding]?.isElse === true) {
        const left = denying.decision.remaining;
        [binding, wait] = bindElse(store, parts, decisions.map(({ decision }) => decision), left > 0n ? tokens - left : tokens);
    }
    const states = decisions.map(({ key, limit, cost, decision }) => {
        const isTaken = binding < 0 && cost > 0n, state = isTaken ? decision : store.look(key, limit);
        if (isTaken && !seen.has("PEEK")) {
            store.keep(key, limit, decision.state);
        }
        const split = seen.has("SPLIT") && parts.at(-1)?.limit.row.form === "balance" ? [-1, Number(state.granted)] : [];
        return [...stateOf(state), ...split];
    });
    return [binding < 0 ? Number(tokens) : 0, binding, rounded(wait), states];
}

function decideAll(store: Store, parts: readonly Part[], tokens: bigint): (Part & { cost: bigint; decision: Decision })[] {
    return parts.map((part) => {
        const asked = part.cost ?? tokens, cost = part.limit.row.isOnePlace && asked > 1n ? 1n : asked;
        return { ...part, cost, decision: store.ask(part.key, part.limit, { n: cost }) };
    });
}

/** Whether a limit before ELSE gives what it can. */
function isIncluded({ limit, cost, isElse }: Part): boolean { return isElse !== true && cost === undefined && limit.row.keeps === true; }

/** The parts, of which those before ELSE are asked for what they can give, and the balance for the rest. */
function divided(store: Store, parts: readonly Part[], tokens: bigint): readonly Part[] {
    if (parts.at(-1)?.isElse !== true) {
        return parts;
    }
    let given = tokens;
    for (const { key, limit } of parts.filter(isIncluded)) {
        const { granted } = store.ask(key, limit, { n: tokens, option: "UPTO" });
        given = granted < given ? granted : given;
    }
    return parts.map((part) => isIncluded(part) ? { ...part, cost: given } : part.isElse === true ? { ...part, cost: tokens - given } : part);
}

/** The limit that takes longest to give what the balance lacks, or the balance if one never can, and its wait. */
function bindElse(store: Store, parts: readonly Part[], decisions: readonly Decision[], lacking: bigint): [number, Fraction | null] {
    const last = parts.length - 1;
    let binding = last, wait: Fraction | null = null;
    for (const [i, part] of parts.slice(0, last).entries()) {
        const decision = isIncluded(part) ? store.ask(part.key, part.limit, { n: lacking }) : decisions[i];
        if (!decision || decision.granted > 0n || part.cost === 0n) {
            continue;
        }
        if (decision.wait === null && isIncluded(part)) {
            return [last, null];
        }
        if (binding === last || isLonger(decision.wait, wait)) {
            [binding, wait] = [i, decision.wait];
        }
    }
    return [binding, wait];
}

/** The limit, the tokens that remain, and the time until all are back. */
function stateOf({ limit, remaining, reset }: Decision): number[] {
    return [Number(limit), Number(remaining > 0n ? remaining : 0n), rounded(reset)];
}

function isLonger(a: Fraction | null, b: Fraction | null): boolean { return b !== null && (a === null || a.isAbove(b)); }
