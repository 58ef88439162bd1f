import { mustBeRecord, shown } from "./arguments.js";
import { count } from "./count.js";
import type { Word } from "./driver.js";
import { milliseconds } from "./rates.js";
import { InvalidError } from "./errors.js";
import { shortKey } from "./key.js";
import type { Key, RequestOptions } from "./request.js";

/** A key as text, for keys in memory. */
export function text(key: Key): string { return typeof key === "string" ? key : Buffer.from(key).toString("latin1"); }

/** The words of keep. */
export function keepWords(keep: number | string | undefined): Word[] {
    if (keep === undefined) {
        return [];
    }
    if (typeof keep === "number") {
        return ["KEEP", count(keep, "keep", 0)];
    }
    if (typeof (keep as unknown) !== "string" || !/^(\d{1,13}|\d+(\.\d{1,3})?%)$/.test(keep) || (keep.endsWith("%") && parseFloat(keep) > 100)) {
        throw new InvalidError(`keep: must be a number of tokens or a percentage such as "10%", got ${shown(keep)}`);
    }
    return ["KEEP", keep];
}

/** The values of the {name} in the keys of a policy, by the order of their names. */
export function sortedFields(fields: Record<string, Key> | undefined): [string, Key][] {
    mustBeRecord(fields, "fields");
    return Object.entries(fields ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The words of the fields of a policy. */
export function withWords(fields: readonly [string, Key][]): Word[] {
    return fields.length === 0 ? [] : ["WITH", ...fields.flatMap(([name, value]): Word[] => [name, shortKey(value)])];
}

/** The words of a request, behind its tokens. */
export function requestWords({ keep, maxWait, id, remember, peek, split }: RequestOptions): Word[] {
    const words: Word[] = [];
    if (maxWait !== undefined) {
        if (keep !== undefined) {
            throw new InvalidError("a request has keep or maxWait, not both");
        }
        words.push("MAXWAIT", `${milliseconds(maxWait, "maxWait")}ms`);
    }
    if ((id === undefined) !== (remember === undefined)) {
        throw new InvalidError("a request has an id and a time to remember it, or neither");
    }
    if (id !== undefined && remember !== undefined) {
        if (id.length === 0) {
            throw new InvalidError("id: must not be empty: all requests with it would be one");
        }
        words.push("AS", shortKey(id), "FOR", `${milliseconds(remember, "remember")}ms`);
    }
    if (split) {
        words.push("SPLIT");
    }
    if (peek) {
        words.push("PEEK");
    }
    return words;
}
