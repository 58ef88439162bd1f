import type { IncomingMessage } from "node:http";
import type { Limiter } from "../limiter.js";
import { type GuardOptions, guard } from "./guard.js";
import { viewOf } from "./view.js";

export * from "./public.js";

interface Reply {
    headers(fields: Record<string, string>): unknown;
    code(status: number): unknown;
    send(body: string): unknown;
}

/** A hook of Fastify, such as onRequest, for all requests or for one route. */
export function rateLimit<R extends { raw: IncomingMessage }>(limiter: Limiter, options: GuardOptions<R>) {
    const decide = guard(limiter, options);
    return async (request: R, reply: Reply): Promise<unknown> => {
        const { fields, denied } = await decide(request, viewOf(request.raw));
        reply.headers(fields);
        if (denied === undefined) {
            return undefined;
        }
        reply.code(denied.status);
        reply.send(denied.body);
        return reply;
    };
}
