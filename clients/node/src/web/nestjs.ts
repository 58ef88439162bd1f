import type { IncomingMessage, ServerResponse } from "node:http";
import { type CanActivate, type ExecutionContext, HttpException } from "@nestjs/common";
import type { Limiter } from "../limiter.js";
import { type GuardOptions, guard } from "./guard.js";
import { viewOf } from "./view.js";

export * from "./public.js";

/** A guard of NestJS, on Express or Fastify: for `app.useGlobalGuards`, and for `@UseGuards` on a controller or on one of its methods. */
export function rateLimit<R extends object>(limiter: Limiter, options: GuardOptions<R>): CanActivate {
    const decide = guard(limiter, options);
    return {
        canActivate: async (context: ExecutionContext): Promise<boolean> => {
            const http = context.switchToHttp(), request = http.getRequest<R>(), response = http.getResponse<object>();
            const { fields, denied } = await decide(request, viewOf(rawOf(request) as IncomingMessage));
            delete fields["Content-Type"]; // the application's exception filter, which answers, chooses it
            for (const [name, value] of Object.entries(fields)) {
                setField(response, name, value);
            }
            if (denied !== undefined) {
                throw new HttpException(JSON.parse(denied.body) as Record<string, unknown>, denied.status);
            }
            return true;
        },
    };
}

/** The object of Node's http module: Express extends it, and Fastify has it in raw. */
function rawOf(request: object): unknown {
    return "raw" in request ? request.raw : request;
}

function setField(response: object, name: string, value: string): void {
    if ("header" in response && "raw" in response) {
        (response as { header: (name: string, value: string) => void }).header(name, value); // Fastify
    } else {
        (response as ServerResponse).setHeader(name, value);
    }
}
