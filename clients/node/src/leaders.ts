import type { Word } from "./driver.js";

/** Milliseconds: leaders change without a word while nodes forward. */
const every = 10_000;

/** Milliseconds after a redirection or a failure. */
const again = 1_000;

const slotCount = 16_384;

/**
 * The node that leads the group of each slot, as CLUSTER SLOTS shows them: none without groups, where all nodes are as good. A node is its
 * place among all, below 255.
 */
export class Leaders {
    #bySlot: Uint8Array | undefined; // a place and 1; 0: not known
    #asked = -every; // time of performance.now()
    #isOld = false; // since a redirection or a failure, or there is no reply yet

    /** Whether the leaders are to be asked for now. Then it takes it that they are. */
    isDue(now: number): boolean {
        const is = now - this.#asked >= (this.#isOld ? again : every);
        if (is) {
            this.#asked = now;
            this.#isOld = true;
        }
        return is;
    }

    /** Has them asked for again soon: a node has redirected a command, or failed. */
    distrust(): void { this.#isOld = true; }

    /** Takes the reply to CLUSTER SLOTS. placeOf has the node at an address, or -1. */
    learn(reply: unknown, placeOf: (address: string) => number): void {
        const ranges = reply as [number, number, [string, number]][];
        this.#bySlot = ranges.length > 1 ? new Uint8Array(slotCount) : undefined;
        for (const [first, last, [host, port]] of ranges) {
            this.#bySlot?.fill(placeOf(`${host}:${port}`) + 1, first, last + 1);
        }
        this.#isOld = false;
    }

    /** The node that leads the key of a command, or -1. */
    of(words: readonly Word[]): number {
        const slot = this.#bySlot && slotOf(words);
        return slot === undefined ? -1 : (this.#bySlot?.[slot] ?? 0) - 1;
    }
}

/** The slot of a command's key; undefined if only the server knows the keys. */
export function slotOf(words: readonly Word[]): number | undefined {
    if (words[0] === "RL.CHECK" || words[0] === "RL.POLICY") {
        return undefined;
    }
    const key = words[words[0] === "RL.ALL" ? 2 : 1];
    return key === undefined ? undefined : crc16(tagged(Buffer.isBuffer(key) ? key : Buffer.from(String(key)))) % slotCount;
}

/** The part of a key between its first braces, or all of it. */
function tagged(key: Buffer): Buffer {
    const open = key.indexOf("{"), close = open < 0 ? -1 : key.indexOf("}", open);
    return close > open + 1 ? key.subarray(open + 1, close) : key;
}

/** The checksum CRC16 (XMODEM). */
function crc16(bytes: Buffer): number {
    let crc = 0;
    for (const byte of bytes) {
        crc ^= byte << 8;
        for (let bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000) === 0 ? crc << 1 : crc << 1 ^ 0x1021;
        }
    }
    return crc & 0xffff;
}
