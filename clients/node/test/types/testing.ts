// A fake and a server as a test in TypeScript uses them. It is compiled, not run.
import { type Limiter, failClosed, perMinute } from "@stintdb/client";
import { Clock, FakeLimiter, FakeServer, startServer } from "@stintdb/client/testing";

const server = new FakeServer(new Clock(new Date("2026-01-02")));
server.setPolicy("api", [{ key: "user:{}", limit: perMinute(3) }, { key: "all", limit: "FW 1000 1h" }]);

export const limiters: Limiter[] = [new FakeLimiter(), new FakeLimiter({ server, whenDown: failClosed(), breaker: { failures: 5 } })];

export function pass(limiter: FakeLimiter): void {
    limiter.clock.advance("1m");
    limiter.server.isDown = true;
}

export async function withServer(use: (port: number) => Promise<void>): Promise<void> {
    await using running = await startServer({ flags: ["--max-memory", "100mb"] });
    await use(running.port);
}
