import { createHash } from "node:crypto";
import { shown } from "./arguments.js";
import { InvalidError } from "./errors.js";

const mostBytes = 200;
const keptBytes = 136;

/**
 * The form of a key that is sent. One of more than 200 bytes becomes its first 136 bytes, ":sha256:", and the SHA-256 of all bytes in
 * hexadecimal, as in Stint's other clients.
 */
export function shortKey(key: string | Uint8Array): string | Buffer {
    if (typeof key === "string" && !isWellFormed(key)) {
        return shortKey(bytesOf(key));
    }
    if (typeof key === "string" && key.length <= mostBytes / 3) { // at most three bytes each
        return key;
    }
    if (typeof key !== "string" && !((key as unknown) instanceof Uint8Array)) {
        throw new InvalidError(`key: must be a string or bytes, got ${shown(key)}`);
    }
    const bytes = typeof key === "string" ? Buffer.from(key) : Buffer.from(key.buffer, key.byteOffset, key.byteLength);
    if (bytes.length <= mostBytes) {
        return typeof key === "string" ? key : bytes;
    }
    const digest = createHash("sha256").update(bytes).digest("hex");
    return Buffer.concat([bytes.subarray(0, keptBytes), Buffer.from(`:sha256:${digest}`)]);
}

/** The form of a key that is sent as text, for keys in memory: a character for each byte. */
export function nameOf(key: string | Uint8Array): string { return Buffer.from(shortKey(key)).toString("latin1"); }

/** Whether text has no half of a surrogate pair. (Node.js 20 has String.isWellFormed; TypeScript's library for ES2022 does not.) */
function isWellFormed(text: string): boolean { return !/\p{Surrogate}/u.test(text); }

/**
 * Text as UTF-8 in which half of a surrogate pair, as the JSON "\\ud800" has it, is the three bytes of its number. Node.js writes the same
 * character for each, so different keys would become one.
 */
export function bytesOf(text: string): Buffer {
    return Buffer.concat(Array.from(text, (character) => {
        const code = character.codePointAt(0) ?? 0;
        return code >= 0xd800 && code <= 0xdfff ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)]) : Buffer.from(character);
    }));
}
