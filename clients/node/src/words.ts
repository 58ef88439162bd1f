import { shown } from "./arguments.js";
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

/** The words of a request, behind its tokens. */
export function requestWords({ keep, maxWait, id, remember, peek }: RequestOptions): Word[] {
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
        words.push("AS", shortKey(id), "FOR", `${milliseconds(remember, "remember")}ms`);
    }
    if (peek) {
        words.push("PEEK");
    }
    return words;
}
