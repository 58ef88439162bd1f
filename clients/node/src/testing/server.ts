import { type ChildProcess, spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { StintError } from "../errors.js";
import { type Known, mustKnow } from "../options.js";

const startTimeout = 30_000; // milliseconds until a started server takes connections
const stopTimeout = 10_000; // milliseconds until a server that was asked to stop is killed
const mostOutput = 10_000; // characters of its output for an error

/** The options of {@link startServer}. */
export interface ServerOptions {
    /** The path of the program. By default that in the environment variable STINTTEST_BINARY, or `stint` in PATH. */
    binary?: string;
    /** Other flags of `stint server`. */
    flags?: readonly string[];
}

const serverOptions = { binary: true, flags: true } satisfies Known<ServerOptions>;

/** A server that {@link startServer} started. */
export interface RunningServer extends AsyncDisposable {
    readonly port: number;
    /** Such as "redis://127.0.0.1:50123". */
    readonly url: string;
    /** Ends the server. */
    stop(): Promise<void>;
}

/**
 * Starts a Stint server on a free loopback port, with its data in memory. It ends with `stop`, or with this process. It throws
 * {@link StintError} if there is no server to start, or if it ends.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
    mustKnow(options, serverOptions, "startServer");
    const { binary = process.env["STINTTEST_BINARY"] ?? "stint", flags = [] } = options;
    const port = await freePort();
    const child = spawn(binary, ["server", "--listen", `127.0.0.1:${port}`, "--admin", "", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    const started = new Process(child, binary);
    await started.ready(port);
    const stop = (): Promise<void> => started.stop();
    return { port, url: `redis://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop };
}

/** A process of a server. It does not keep this process running, and ends with it. */
class Process {
    #output = "";
    #error: Error | undefined;
    readonly #ended: Promise<void>;
    readonly #kill = (): void => { this.child.kill("SIGKILL"); };

    constructor(private readonly child: ChildProcess, private readonly binary: string) {
        process.once("exit", this.#kill);
        this.#ended = new Promise<void>((resolve) => {
            child.once("exit", () => { resolve(); });
            child.once("error", (error) => { this.#error = error; resolve(); });
        }).then(() => { process.removeListener("exit", this.#kill); });
        for (const stream of [child.stdout, child.stderr]) {
            stream?.setEncoding("utf8").on("data", (text: string) => { this.#output = (this.#output + text).slice(-mostOutput); });
        }
    }

    /** Waits until the server takes connections. */
    async ready(port: number): Promise<void> {
        const deadline = performance.now() + startTimeout, ended = this.#ended.then(() => "ended" as const);
        for (;;) {
            const state = await Promise.race([ended, answers(port)]);
            if (state === "answers") {
                this.child.unref();
                for (const stream of [this.child.stdout, this.child.stderr]) {
                    (stream as { unref?(): void } | null)?.unref?.();
                }
                return;
            }
            if (state === "ended" || performance.now() > deadline) {
                this.#kill();
                throw new StintError(this.#failure(state === "ended"), { cause: this.#error });
            }
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }

    /** Asks the server to stop, and kills it if it does not. */
    async stop(): Promise<void> {
        this.child.ref();
        this.child.kill("SIGTERM");
        const timer = setTimeout(this.#kill, stopTimeout);
        await this.#ended;
        clearTimeout(timer);
    }

    #failure(ended: boolean): string {
        if (this.#error) {
            return `startServer: there is no server to start: ${this.#error.message}; set STINTTEST_BINARY to its path, or put stint into PATH`;
        }
        return `startServer: ${this.binary} ${ended ? "ended" : `took no connections within ${startTimeout} ms`}:\n${this.#output}`;
    }
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
    return new Promise((resolve, reject) => {
        const server = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
            const address = server.address();
            server.close(() => { resolve(typeof address === "object" && address ? address.port : 0); });
        });
    });
}

/** Whether a server answers on a port. */
function answers(port: number): Promise<"answers" | "silent"> {
    return new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n")).setTimeout(1000);
        const end = (state: "answers" | "silent") => (): void => { socket.destroy(); resolve(state); };
        socket.once("data", end("answers")).once("error", end("silent")).once("timeout", end("silent")).once("close", end("silent"));
    });
}
