import type { IncomingMessage, ServerResponse } from "node:http";
import type { Limiter } from "../limiter.js";
import { type GuardOptions, guard } from "./guard.js";
import { viewOf } from "./view.js";

export * from "./public.js";

/** Middleware of Express, and of others with its form, for all requests or for one route. */
export function rateLimit<R extends IncomingMessage>(limiter: Limiter, options: GuardOptions<R>) {
    const decide = guard(limiter, options);
    return (request: R, response: ServerResponse, next: (error?: unknown) => void): void => {
        decide(request, viewOf(request)).then(({ fields, denied }) => {
            for (const [name, value] of Object.entries(fields)) {
                response.setHeader(name, value);
            }
            if (denied === undefined) {
                next();
            } else {
                response.statusCode = denied.status;
                response.end(denied.body);
            }
        }).catch(next);
    };
}
