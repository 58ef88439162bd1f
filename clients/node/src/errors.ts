/** The base of all errors of this package. */
export class StintError extends Error {
    constructor(message: string, options?: { cause?: unknown }) {
        super(message, options);
        this.name = new.target.name;
    }
}

/** Why Stint did not decide. */
export type UnavailableReason =
    | "timeout" // no reply within the timeout: the tokens may have been taken
    | "not-sent" // the driver had no connection, and nothing was sent
    | "connection" // the connection failed: the tokens may have been taken
    | "circuit-open" // Stint failed several times in a row, and gets no requests until it works again
    | "overloaded" // too many requests wait for replies
    | "busy" // the server replied that it cannot decide at present: CLUSTERDOWN, LOADING, OOM and the like
    | "uncertain"; // a cluster lost its leader: the tokens may have been taken, and count as spent

/** Stint did not decide. It is the `cause` of a result that the policy gave; calls do not throw it. */
export class UnavailableError extends StintError {
    constructor(readonly reason: UnavailableReason, message: string, options?: { cause?: unknown }) {
        super(message, options);
    }
}

/** The server takes no requests from this connection: NOAUTH, WRONGPASS, DENIED. The fallback decides, and `cause` has this error. */
export class UnauthenticatedError extends StintError {}

/** An argument that cannot be sent. It is thrown before anything is sent. */
export class InvalidError extends StintError {}

/** An error reply about this request. It is thrown: the request is not allowed, whatever the policy. */
export class RefusedError extends StintError {}

/** The limiter was closed. */
export class ClosedError extends StintError {}

/** {@link Limiter.wait} was denied, and waiting would not help or take longer than allowed. Nothing was taken. */
export class DeniedError extends StintError {}

type Class = "busy" | "uncertain" | "unauthenticated";

/** Beginnings of error replies of a server that cannot decide. All other error replies are about the request and refuse it. */
const classes: readonly (readonly [string, Class])[] = [
    ["CLUSTERDOWN ", "busy"], ["UPSTREAM ", "busy"], ["LOADING ", "busy"], ["TRYAGAIN ", "busy"], ["MASTERDOWN ", "busy"],
    ["READONLY ", "busy"], ["NOREPLICAS ", "busy"], ["MISCONF ", "busy"], ["NOTKEPT ", "busy"], ["BUSY ", "busy"], ["MOVED ", "busy"],
    ["ASK ", "busy"], ["ERR max number of clients", "busy"], ["OOM ", "busy"], ["LIMITED ", "busy"],
    ["UNCERTAIN ", "uncertain"],
    ["NOAUTH ", "unauthenticated"], ["WRONGPASS ", "unauthenticated"], ["DENIED ", "unauthenticated"], ["ERR AUTH ", "unauthenticated"],
    ["ERR too many failed logins", "unauthenticated"],
];

/** The error for an error reply. */
export function ofReply(text: string): StintError {
    switch (classes.find(([beginning]) => text.startsWith(beginning))?.[1]) {
        case "busy": return new UnavailableError("busy", text);
        case "uncertain": return new UnavailableError("uncertain", text);
        case "unauthenticated": return new UnauthenticatedError(text);
        default: return new RefusedError(text.startsWith("ERR unknown command") ? `is this a Stint server? ${text}` : text);
    }
}
