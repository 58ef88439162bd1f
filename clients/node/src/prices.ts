import { shown } from "./arguments.js";
import { mostTokens } from "./count.js";
import { InvalidError } from "./errors.js";

const decimals = 9, unit = 10n ** BigInt(decimals);

/**
 * Prices in dollars for a million units, by model and kind of unit: `new Prices({ large: { input: "2.50", output: "10" } })`. They are texts, decimals below a
 * million with at most nine digits behind the point. That is also the price of one unit in micro-dollars, in which budgets count.
 */
export class Prices {
    readonly #perUnit = new Map<string, Map<string, bigint>>(); // billionths of a micro-dollar

    constructor(dollarsPerMillion: Record<string, Record<string, string>>) {
        for (const [model, kinds] of Object.entries(dollarsPerMillion)) {
            const prices = new Map<string, bigint>();
            for (const [kind, text] of Object.entries(kinds)) {
                if (typeof (text as unknown) !== "string" || !/^[0-9]{1,6}(\.[0-9]{1,9})?$/.test(text)) {
                    throw new InvalidError(`prices: ${model}, ${kind}: must be dollars for a million units such as "2.50", got ${shown(text)}`);
                }
                const [whole = "", behind = ""] = text.split(".");
                prices.set(kind, BigInt(whole + behind.padEnd(decimals, "0")));
            }
            this.#perUnit.set(model, prices);
        }
    }

    /**
     * The cost of a request in micro-dollars: all its units at their prices, added up exactly and rounded up once. It throws {@link InvalidError} for a model
     * or kind without a price, and for a cost above a million dollars.
     */
    cost(model: string, usage: Record<string, number>): number {
        const prices = this.#perUnit.get(model);
        if (prices === undefined) {
            throw new InvalidError(`model: there are no prices of ${shown(model)}`);
        }
        let sum = 0n;
        for (const [kind, n] of Object.entries(usage)) {
            const price = prices.get(kind);
            if (price === undefined || !Number.isSafeInteger(n) || n < 0) {
                throw new InvalidError(`usage: ${shown(n)} of ${shown(kind)} of ${shown(model)}: there must be a price, and an integer of at least 0`);
            }
            sum += price * BigInt(n);
        }
        const cost = (sum + unit - 1n) / unit;
        if (cost > BigInt(mostTokens)) {
            throw new InvalidError(`usage: it costs more than a million dollars, got ${shown(usage)}`);
        }
        return Number(cost);
    }
}
