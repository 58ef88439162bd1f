import { count } from "./count.js";
import { shown } from "./arguments.js";
import type { Word } from "./driver.js";
import { InvalidError } from "./errors.js";
import { shortKey } from "./key.js";
import { type Known, mustKnow } from "./options.js";
import type { Key } from "./request.js";
import { integers, unknownForm } from "./result.js";
import { fieldsOf } from "./usage.js";

/** A payment that adds credits to a balance. */
export interface Payment {
    /** The key under which the server remembers the payment for 10 years. The same payment again adds nothing. */
    id: Key;
    credits: number;
    /** When the rest of these credits is gone, rounded down to seconds; never by default. */
    expires?: Date;
}

const paymentParts = { id: true, credits: true, expires: true } satisfies Known<Payment>;

/** The credits of a balance. */
export interface Credits {
    /** Below zero while it is in debt. */
    balance: number;
    /** What is left of the credits that expire at one time, in the order in which they are spent; null if they never do. */
    grants: { left: number; expires: Date | null }[];
}

/** The command of a payment. It throws {@link InvalidError} for one that the server refuses. */
export function paymentWords(key: Key, payment: Payment): Word[] {
    mustKnow(payment, paymentParts, "a payment");
    const { id, credits, expires } = payment, seconds = Math.floor(Number(expires) / 1000);
    if (id.length === 0) {
        throw new InvalidError("id: must not be empty: all payments with it would be one");
    }
    if (expires !== undefined && !(seconds > 0)) {
        throw new InvalidError(`expires: must be a Date, got ${shown(expires)}`);
    }
    return ["BAL.ADD", shortKey(key), count(credits, "credits"), "AS", shortKey(id), ...(expires === undefined ? [] : ["EXPIRE", seconds])];
}

/** Reads the reply of BAL.INFO: null for a key without a balance. */
export function parseCredits(reply: unknown): Credits | null {
    if (reply === null) {
        return null;
    }
    const fields = fieldsOf(reply), grants = fields.get("grants"), [balance] = integers([fields.get("balance")], 1) as [number];
    if (!Array.isArray(grants)) {
        throw unknownForm(reply);
    }
    return { balance, grants: grants.map((each: unknown) => {
        const isForEver = Array.isArray(each) && each.length === 2 && each[1] === null;
        const [left, expires] = integers(isForEver ? [each[0], 0] : each, 2) as [number, number];
        return { left, expires: isForEver ? null : new Date(expires * 1000) };
    }) };
}
