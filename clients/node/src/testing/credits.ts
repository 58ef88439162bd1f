import { algorithms } from "../algorithms.js";
import { ofReply } from "../errors.js";
import { lacks, number, read } from "./limits.js";
import type { Store } from "./store.js";

const balance = read(algorithms.balance, [], []);

/** What was added under the id of a payment. */
export interface Payment { key: string; credits: bigint }

/** BAL.ADD: the credits of the payment, which are added once, and the balance. */
export function addCredits(store: Store, payments: Map<string, Payment>, words: readonly string[]): number[] {
    const [key = "", n = "", , id = ""] = words, credits = number(n, 1n), earlier = payments.get(id);
    if (words.length > 4) {
        throw lacks("EXPIRE in BAL.ADD");
    }
    const { added, spent } = creditsOf(store, key) ?? { added: 0n, spent: 0n };
    if (earlier === undefined) {
        payments.set(id, { key, credits });
        store.keep(key, balance, { kind: "credits", added: added + credits, spent });
        return [Number(credits), Number(added + credits - spent)];
    }
    if (earlier.key !== key || earlier.credits !== credits) {
        throw ofReply("ERR AS: the id was used for a request with other parameters; nothing was taken");
    }
    return [Number(credits), Number(added - spent)];
}

/** BAL.INFO: a balance and its grants, or null. */
export function credits(store: Store, [key = ""]: readonly string[]): unknown {
    const state = creditsOf(store, key), left = state ? Number(state.added - state.spent) : 0;
    return state ? ["balance", left, "grants", left > 0 ? [[left, null]] : []] : null;
}

function creditsOf(store: Store, key: string): { added: bigint; spent: bigint } | undefined {
    const state = store.state(key, balance);
    return state?.kind === "credits" ? state : undefined;
}
