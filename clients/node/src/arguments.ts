// Checks of arguments from programs without types. Each throws InvalidError with the argument's name and value.
import { inspect } from "node:util";
import { InvalidError } from "./errors.js";

/** A value as an error shows it: on one line, and short. */
export function shown(value: unknown): string { return inspect(value, { depth: 0, maxStringLength: 100, breakLength: Infinity }); }

/** Throws unless a value is a function, or is left out. */
export function mustBeFunction(value: unknown, name: string): void {
    if (value !== undefined && value !== null && typeof value !== "function") {
        throw new InvalidError(`${name}: must be a function, got ${shown(value)}`);
    }
}

/** Throws unless a value is text of at least one character. */
export function mustBeText(value: unknown, name: string): void {
    if (typeof value !== "string" || value === "") {
        throw new InvalidError(`${name}: must be text, and not empty, got ${shown(value)}`);
    }
}

/** Throws unless a value is an array. */
export function mustBeList(value: unknown, name: string): void {
    if (!Array.isArray(value)) {
        throw new InvalidError(`${name}: must be an array, got ${shown(value)}`);
    }
}

/** Throws unless a value is an object with values by their names, or is left out. */
export function mustBeRecord(value: unknown, name: string): void {
    if (value !== undefined && value !== null && (typeof value !== "object" || Array.isArray(value))) {
        throw new InvalidError(`${name}: must be an object with values by their names, got ${shown(value)}`);
    }
}
