import type { IncomingMessage } from "node:http";
import type { Limiter } from "../limiter.js";
import { type GuardOptions, guard } from "./guard.js";
import { viewOf } from "./view.js";

export * from "./public.js";

interface Context {
    req: IncomingMessage;
    status: number;
    body: unknown;
    set(fields: Record<string, string>): void;
}

/** Middleware of Koa. */
export function rateLimit<C extends Context>(limiter: Limiter, options: GuardOptions<C>) {
    const decide = guard(limiter, options);
    return async (context: C, next: () => Promise<unknown>): Promise<void> => {
        const { fields, denied } = await decide(context, viewOf(context.req));
        if (denied === undefined) {
            context.set(fields);
            await next();
        } else {
            context.status = denied.status;
            context.body = denied.body;
            context.set(fields);
        }
    };
}
