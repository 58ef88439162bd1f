import type { Word } from "../driver.js";
import { InvalidError, ofReply } from "../errors.js";
import { type LimitLike, limitOf } from "../limit.js";
import { type Known, mustKnow } from "../options.js";
import { Clock } from "./clock.js";
import { acquire, refund, release } from "./commands.js";
import { type Payment, addCredits, credits } from "./credits.js";
import { lacks, read as readLimit, rowOfSpec } from "./limits.js";
import { type Part, all, check } from "./several.js";
import { Store } from "./store.js";

/** A limit of a policy. In its key, {} is the id of a check, and {name} one of its fields. */
export interface Rule { key: string; limit: LimitLike }

const ruleParts = { key: true, limit: true } satisfies Known<Rule>;

/**
 * A Stint server in memory. It makes the server's decisions on token buckets, fixed windows with no option but rollover,
 * sliding windows in segments, concurrency limits, balances whose credits do not expire, several of them at once, and
 * policies. To everything else it answers with an error: such a test runs on a real server, which startServer starts.
 */
export class FakeServer {
    /** Whether the server is gone: the policies of limiters answer. */
    isDown = false;

    readonly #store: Store;
    readonly #payments = new Map<string, Payment>();
    readonly #policies = new Map<string, readonly Rule[]>();

    constructor(readonly clock: Clock = new Clock()) {
        this.#store = new Store(clock);
    }

    /** Stores a policy. */
    setPolicy(name: string, rules: readonly Rule[]): void {
        for (const rule of rules) {
            mustKnow(rule, ruleParts, "a rule of a fake policy");
        }
        this.#policies.set(bytesOf(name), rules);
    }

    /** Carries out a command, and returns its reply as a driver does. It throws the error of an error reply. */
    execute(command: readonly Word[]): unknown {
        const [name = "", ...words] = command.map(bytesOf);
        try {
            return this.#execute(name, words);
        } catch (error) {
            throw error instanceof InvalidError ? ofReply(`ERR ${error.message}`) : error;
        }
    }

    #execute(name: string, words: readonly string[]): unknown {
        const store = this.#store;
        switch (name) {
            case "PING": return "PONG";
            case "RL.ALL": return all(store, words);
            case "RL.CHECK": return check(store, words, (policy, names) => this.#limits(policy, names));
            case "BAL.ADD": return addCredits(store, this.#payments, words);
            case "BAL.INFO": return credits(store, words);
            case "RL.REFUND": return refund(store, words);
            case "CC.RELEASE": return release(store, words);
            case "DEL": return store.delete(words[0] ?? "") ? 1 : 0;
            default: return acquire(store, name, words);
        }
    }

    #limits(policy: string, names: ReadonlyMap<string, string>): Part[] {
        const rules = this.#policies.get(policy);
        if (!rules) {
            throw ofReply(`ERR no such policy '${policy}'; store it with setPolicy`);
        }
        for (const [name, value] of names) {
            if (value === "") {
                throw ofReply(name === "" ? "ERR id: the caller's id must not be empty" : `ERR WITH: the value of the field '${name}' must not be empty`);
            }
        }
        return rules.map(({ key, limit }) => {
            const filled = (text: string): string => text.replace(/\{([^{}]*)\}/g, (_, name: string) => {
                const value = names.get(name);
                if (value === undefined) {
                    throw ofReply(`ERR the policy asks for the field '${name}'`);
                }
                return value;
            });
            const own = limitOf(limit), row = rowOfSpec(own.row.spec);
            const behind = own.optionWords.map(String), read = row && readLimit(row, own.words.map((word) => filled(bytesOf(word))), behind);
            if (!read || behind.length > 0) {
                throw lacks(`limit ${own.toString()}`);
            }
            return { key: filled(bytesOf(key)), limit: read };
        });
    }
}

/** The bytes of a word as characters, so that no two words are the same. */
function bytesOf(word: Word): string { return Buffer.from(typeof word === "number" ? String(word) : word).toString("latin1"); }
