export { Clock } from "./clock.js";
export { FakeServer, type Rule } from "./fake-server.js";
export { FakeLimiter, type FakeLimiterOptions } from "./limiter.js";
export { type RunningServer, type ServerOptions, startServer } from "./server.js";
