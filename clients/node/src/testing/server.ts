import { type ChildProcess, spawn } from "node:child_process";
import { StintError } from "../errors.js";
import { type Known, mustKnow } from "../options.js";

const startTimeout = 60_000; // milliseconds until a started server takes connections
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
 * Starts a Stint server on a loopback port of its choice, with its data in memory. It ends with `stop`, or with this process. It throws
 * {@link StintError} if there is no server to start, or if it ends.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
    mustKnow(options, serverOptions, "startServer");
    const { binary = process.env["STINTTEST_BINARY"] ?? "stint", flags = [] } = options;
    const child = spawn(binary, ["server", "--listen", "127.0.0.1:0", "--admin", "", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    const started = new Process(child, binary);
    const port = await started.ready();
    const stop = (): Promise<void> => started.stop();
    return { port, url: `redis://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop };
}

/** A process of a server. It does not keep this process running, and ends with it. */
class Process {
    #output = "";
    #error: Error | undefined;
    readonly #ended: Promise<void>;
    readonly #port: Promise<number>;
    readonly #kill = (): void => { this.child.kill("SIGKILL"); };

    constructor(private readonly child: ChildProcess, private readonly binary: string) {
        process.once("exit", this.#kill);
        this.#ended = new Promise<void>((resolve) => {
            child.once("exit", () => { resolve(); });
            child.once("error", (error) => { this.#error = error; resolve(); });
        }).then(() => { process.removeListener("exit", this.#kill); });
        this.#port = new Promise((resolve) => {
            for (const stream of [child.stdout, child.stderr]) { // both are read to their ends, so that the server can always write
                stream?.setEncoding("utf8").on("data", (text: string) => {
                    this.#output = (this.#output + text).slice(-mostOutput);
                    const [, port] = /^ready: accepting connections on [^,\n]*:(\d+)[,\n]/m.exec(this.#output) ?? [];
                    if (port !== undefined) {
                        resolve(Number(port));
                    }
                });
            }
        });
    }

    /** Waits until the server says that it takes connections, and returns its port. */
    async ready(): Promise<number> {
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<"late">((resolve) => { timer = setTimeout(() => { resolve("late"); }, startTimeout); });
        const state = await Promise.race([this.#port, this.#ended.then(() => "ended" as const), late]);
        clearTimeout(timer);
        if (typeof state === "string") {
            this.#kill();
            throw new StintError(this.#failure(state === "ended"), { cause: this.#error });
        }
        this.child.unref();
        for (const stream of [this.child.stdout, this.child.stderr]) {
            (stream as { unref?(): void } | null)?.unref?.();
        }
        return state;
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
