import type { Limiter } from "../limiter.js";
import type { Known } from "../options.js";
import { type GuardOptions, guard, guardOptions } from "./guard.js";

export * from "./public.js";

interface Context {
    req: { method: string; path: string; header: (name: string) => string | undefined };
    env: unknown;
    header: (name: string, value: string) => void;
    newResponse: (body: string, status: never, fields: Record<string, string>) => Response;
}

/** Options of the middleware of Hono. */
export interface HonoOptions<C> extends GuardOptions<C> {
    /** The address at the other end of the connection, such as `(c) => getConnInfo(c).remote.address ?? ""`. By default that of \@hono/node-server. */
    remote?: (context: C) => string;
}

const honoOptions = { ...guardOptions, remote: true } satisfies Known<HonoOptions<unknown>>;

/** Middleware of Hono, for all requests or for one route. */
export function rateLimit<C extends Context>(limiter: Limiter, options: HonoOptions<C>) {
    const decide = guard(limiter, options, honoOptions), remote = options.remote ?? remoteOfNode;
    return async (context: C, next: () => Promise<void>): Promise<Response | undefined> => {
        const { method, path } = context.req;
        const { fields, denied } = await decide(context, {
            method, path, remote: remote(context), header: (name) => context.req.header(name) ?? "",
        });
        if (denied !== undefined) {
            return context.newResponse(denied.body, denied.status as never, fields);
        }
        for (const [name, value] of Object.entries(fields)) {
            context.header(name, value);
        }
        await next();
        return undefined;
    };
}

function remoteOfNode({ env }: Context): string {
    return (env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined)?.incoming?.socket?.remoteAddress ?? "";
}
