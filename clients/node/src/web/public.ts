// The names that the middleware of each framework exports beside its own.
export { type GuardOptions, type KeyOf, byAddress, byHeader, byRoute, firstOf, join } from "./guard.js";
export type { FieldStyle } from "./fields.js";
export type { View } from "./view.js";
