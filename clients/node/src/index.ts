export type { BreakerOptions } from "./breaker.js";
export type { Client, Driver, Word } from "./driver.js";
export type { Duration } from "./duration.js";
export { ClosedError, DeniedError, InvalidError, RefusedError, StintError, UnauthenticatedError, UnavailableError, type UnavailableReason } from "./errors.js";
export { Limit, type Algorithm, type CalendarWindow, type LimitLike, perDay, perHour, perMinute, perSecond } from "./limit.js";
export { Limiter, type CheckOptions, type Key, type Keyed, type LimiterOptions, type RequestOptions } from "./limiter.js";
export { type Policy, failClosed, failOpen, localShare } from "./policy.js";
export { type Charge, type LimitState, type MultiResult, type Result, type Source, never } from "./result.js";
