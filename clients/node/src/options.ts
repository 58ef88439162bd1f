import { shown } from "./arguments.js";
import { InvalidError } from "./errors.js";

/** A table with the names of all options of a type. */
export type Known<T> = Readonly<Record<keyof T, true>>;

/**
 * Throws {@link InvalidError} unless options are an object with none but known options, for programs without types: a misspelt option would
 * be ignored. Owner is the thing whose options they are, such as "a request".
 */
export function mustKnow(options: unknown, known: Readonly<Record<string, true>>, owner: string): void {
    if (typeof options !== "object" || options === null) {
        throw new InvalidError(`the options of ${owner} must be an object such as { ${Object.keys(known)[0] ?? ""}: … }, got ${shown(options)}`);
    }
    for (const name of Object.keys(options)) {
        if (!Object.hasOwn(known, name)) {
            const names = Object.keys(known), near = nearest(name, names);
            const value = shown((options as Record<string, unknown>)[name]);
            throw new InvalidError(`${name}: is no option of ${owner}, got ${value}; ${near === undefined ? `the options are ${names.join(", ")}` : `did you mean ${near}?`}`);
        }
    }
}

/** The name that a word is the beginning of, or a misspelling: at most one letter in three may be wrong, missing or too many. */
function nearest(word: string, names: readonly string[]): string | undefined {
    const letters = lettersOf(word);
    let best: string | undefined, least = Math.floor(letters.length / 3) + 1;
    for (const name of names) {
        const other = lettersOf(name), distance = letters.length >= 3 && other.startsWith(letters) ? Math.min(other.length - letters.length, 1) : edits(letters, other);
        if (distance < least) {
            [best, least] = [name, distance];
        }
    }
    return best;
}

/** The letters of a name in lower case: max_wait and maxwait are maxWait. */
function lettersOf(name: string): string { return name.slice(0, 100).toLowerCase().replace(/[^a-z]/g, ""); }

/** The insertions, deletions and replacements of letters that lead from a to b (Levenshtein 1966), with one row of the usual table. */
function edits(a: string, b: string): number {
    const row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 0; i < a.length; i++) {
        let diagonal = row[0] ?? 0;
        row[0] = i + 1;
        for (let j = 0; j < b.length; j++) {
            const replaced = diagonal + (a[i] === b[j] ? 0 : 1);
            diagonal = row[j + 1] ?? 0;
            row[j + 1] = Math.min(replaced, diagonal + 1, (row[j] ?? 0) + 1);
        }
    }
    return row[b.length] ?? 0;
}
