import { ofReply } from "../errors.js";
import { lacks, rounded } from "./commands.js";
import { Fraction, later, zero } from "./fraction.js";
import { type FakeLimit, lengthOf, number, read, rowOfSpec, takeOptions, warning } from "./limits.js";
import { exactDuration } from "../rates.js";
import { thousandths } from "./adaptive.js";
import type { Decision } from "./decision.js";
import { type ReservedPart, type Reservations, markOf, reserve } from "./reservations.js";
import type { Store } from "./store.js";

/** One of several limits. Without a cost it is asked for the tokens of the request. */
export interface Part {
    key: string;
    limit: FakeLimit;
    cost?: bigint;
    /** The words of KEEP: a number of tokens, or a percentage. */
    keep?: string;
}

/** What is asked of several limits. The time is in nanoseconds. */
interface Options {
    tokens: bigint;
    peek: boolean;
    maxWait: bigint;
    /** The key under which a grant is remembered, and for how long. */
    id?: string;
    remember: bigint;
    /** Whether states have the field of limits that warn. */
    showWarn: boolean;
}

/** RL.ALL. */
export function all(store: Store, reservations: Reservations, given: readonly string[]): unknown {
    const words = [...given], parts: Part[] = [], options: Options = { tokens: 1n, peek: false, maxWait: 0n, remember: 0n, showWarn: true };
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        const row = rowOfSpec(word), last = parts.at(-1);
        if (row) {
            const [key = "", ...own] = words.splice(0, 1 + lengthOf(row));
            parts.push({ key, limit: takeOptions(read(row, own), words) });
        } else if (word === "TOKENS") {
            options.tokens = number(words.shift() ?? "", 1n);
        } else if (word === "COST" && last) {
            last.cost = number(words.shift() ?? "");
        } else if (word === "KEEP" && last) {
            last.keep = words.shift() ?? "";
        } else {
            readOption(options, word, words, "RL.ALL");
        }
    }
    return once(store, reservations, `RL.ALL ${given.join("\0")}`, parts, options);
}

function readOption(options: Options, word: string, words: string[], command: string): void {
    switch (word) {
        case "PEEK": options.peek = true; break;
        case "AS": options.id = words.shift() ?? ""; break;
        case "FOR": options.remember = exactDuration(words.shift() ?? ""); break;
        case "MAXWAIT": options.maxWait = exactDuration(words.shift() ?? ""); break;
        default: throw lacks(`${word} in ${command}`);
    }
}

/** RL.CHECK, of the limits that the policies have for a caller. */
export function check(store: Store, reservations: Reservations, given: readonly string[], limitsOf: (policy: string, names: ReadonlyMap<string, string>) => Part[]): unknown {
    const [policy = "", id = "", n = "", ...words] = given, names = new Map([["", id]]);
    const options: Options = { tokens: number(n, 1n), peek: false, maxWait: 0n, remember: 0n, showWarn: false };
    let keep: string | undefined;
    for (let word = words.shift(); word !== undefined; word = words.shift()) {
        if (word === "KEEP") {
            keep = words.shift() ?? "";
        } else if (word === "WARN") {
            options.showWarn = true;
        } else if (word === "WITH") {
            nameFields(names, words);
        } else {
            readOption(options, word, words, "RL.CHECK");
        }
    }
    const parts = limitsOf(policy, names).map((part) => (keep !== undefined && part.limit.row.keeps ? { ...part, keep } : part));
    return once(store, reservations, `RL.CHECK ${given.join("\0")}`, parts, options);
}

/** Adds the fields behind WITH to the names. */
export function nameFields(names: Map<string, string>, words: string[]): void {
    while (words.length > 0) {
        const [name = "", value = ""] = words.splice(0, 2);
        names.set(name, value);
    }
}

/** Decides on tokens of one of several limits. */
function decisionOn(store: Store, { key, limit, keep }: Part, n: bigint, { maxWait }: Options): Decision {
    if (keep !== undefined) {
        const all = store.ask(key, limit, { n: n + keptOf(keep, limit.tokens) }); // with those that must remain
        return all.granted === 0n ? all : store.ask(key, limit, { n });
    }
    const { spec } = limit.row, decision = store.ask(key, limit, { n, maxWait: spec === "LQ" ? 0n : maxWait }); // windows take no account of it
    if (maxWait === 0n || spec !== "LQ" || decision.wait === null) {
        return decision;
    }
    const queue = store.look(key, limit), excess = queue.reset.minus(Fraction.of(maxWait)); // the time until there is a place that is near enough
    return excess.sign <= 0 ? decision : { ...queue, wait: decision.granted > 0n ? excess : later(decision.wait, excess) };
}

/** The number of tokens that must remain. */
function keptOf(keep: string, tokens: bigint): bigint {
    const percent = keep.endsWith("%") ? thousandths(keep) : undefined;
    return percent === undefined ? number(keep) : Fraction.of(tokens * percent, 100_000n).ceil();
}

/** Takes tokens unless the request has an id under which it was granted already. */
function once(store: Store, reservations: Reservations, request: string, parts: readonly Part[], options: Options): unknown {
    const { id } = options;
    if (options.peek && id !== undefined) {
        throw ofReply("ERR PEEK: cannot be combined with AS");
    }
    const held = id === undefined ? undefined : reservations.held(id);
    if (held && held.request !== request) {
        throw ofReply("ERR AS: the id was used for a request with other parameters; nothing was taken");
    }
    if (held) {
        return [...held.answer, held.parts.map(({ key, limit }) => stateOf(limit, store.look(key, limit), options))];
    }
    const { answer, states, taken } = take(store, parts, options);
    if (id !== undefined && answer[0] !== 0) {
        reservations.keep(id, { request, end: store.now + options.remember, answer, parts: taken, isSettled: false });
    }
    return [...answer, states];
}

/** Takes tokens of each limit, or of none. */
function take(store: Store, parts: readonly Part[], options: Options): { answer: number[]; states: number[][]; taken: ReservedPart[] } {
    const { tokens, peek } = options;
    if (new Set(parts.map(({ key }) => key)).size < parts.length) {
        throw ofReply("ERR spec: the same key twice; each limit needs a different key");
    }
    const decisions = parts.map((part) => {
        const asked = part.cost ?? tokens, cost = part.limit.row.isOnePlace && asked > 1n ? 1n : asked;
        return { ...part, cost, decision: decisionOn(store, part, cost, options) };
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
        if (isTaken && isLonger(decision.wait, wait)) {
            wait = decision.wait;
        }
        if (isTaken && !peek) {
            store.keep(key, limit, options.id === undefined ? decision.state : reserve(decision.state, decision.granted));
        }
        return stateOf(limit, state, options);
    });
    const taken = decisions.map(({ key, limit, decision }, i) => (
        { key, limit, hasCost: parts[i]?.cost !== undefined, charged: decision.granted, mark: markOf(decision.state, store.now) }));
    return { answer: [binding < 0 ? Number(tokens) : 0, binding, rounded(wait)], states, taken };
}

/** The limit, the tokens that remain, and the time until all are back. */
function stateOf(limit: FakeLimit, { remaining, reset }: Decision, { showWarn }: Options): number[] {
    const left = remaining > 0n ? remaining : 0n;
    return [Number(limit.tokens), Number(left), rounded(reset), ...(showWarn ? warning(limit, left) : [])];
}

function isLonger(a: Fraction | null, b: Fraction | null): boolean { return b !== null && (a === null || a.isAbove(b)); }
