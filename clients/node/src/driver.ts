import { StintError, UnavailableError, ofReply } from "./errors.js";

/** A word of a command. */
export type Word = string | number | Buffer;

/** A connection to the server that sends every command at most once. */
export interface Driver {
    /**
     * Sends a command and returns its reply; it throws an error of this package. It may never settle. It sends nothing any more once
     * `call.isOver`.
     */
    send(words: readonly Word[], call: { readonly isOver: boolean }): Promise<unknown>;
    /** Ends the connection. */
    close(): void;
}

/** The part of an ioredis client that is used. */
export interface IoredisClient {
    duplicate(options: Record<string, unknown>): IoredisConnection;
}

interface IoredisConnection {
    call(command: string, args: (string | number | Buffer)[]): Promise<unknown>;
    on(event: "error" | "ready", listener: () => void): unknown;
    disconnect(): void;
}

/** The part of a node-redis client that is used. */
export interface NodeRedisClient {
    duplicate(options: Record<string, unknown>): NodeRedisConnection;
    readonly isOpen: boolean;
}

interface NodeRedisConnection {
    sendCommand(args: (string | Buffer)[]): Promise<unknown>;
    on(event: "error" | "ready", listener: () => void): unknown;
    connect(): Promise<unknown>;
    destroy?(): void;
    disconnect?(): Promise<unknown>;
    readonly isReady: boolean;
}

/** A client of ioredis or of node-redis. */
export type Client = IoredisClient | NodeRedisClient;

/** The driver for a client. It is a second connection with the client's address, password and TLS, which does not queue or repeat. */
export function driverOf(client: Client): Driver {
    return "isOpen" in client ? new NodeRedisDriver(client) : new IoredisDriver(client);
}

/** The first attempt to connect. Calls wait for its end: a program that has just started is connected in a moment. */
class FirstAttempt {
    #isOver = false;
    readonly #over: Promise<void>;

    constructor(connection: { on(event: "error" | "ready", listener: () => void): unknown }) {
        this.#over = new Promise((resolve) => {
            const end = (): void => { this.#isOver = true; resolve(); };
            connection.on("ready", end);
            connection.on("error", end); // each call has its own error
        });
    }

    async wait(call: { readonly isOver: boolean }): Promise<void> {
        if (!this.#isOver) {
            await this.#over;
            if (call.isOver) {
                throw new UnavailableError("not-sent", "there was no connection to Stint in time");
            }
        }
    }
}

class IoredisDriver implements Driver {
    readonly #connection: IoredisConnection;
    readonly #first: FirstAttempt;

    constructor(client: IoredisClient) {
        this.#connection = client.duplicate({
            lazyConnect: false, enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0,
            enableReadyCheck: false, connectTimeout: 1000, retryStrategy: (times: number) => Math.min(50 * times, 400),
        });
        this.#first = new FirstAttempt(this.#connection);
    }

    async send(words: readonly Word[], call: { readonly isOver: boolean }): Promise<unknown> {
        await this.#first.wait(call);
        try {
            return await this.#connection.call(String(words[0]), words.slice(1));
        } catch (error) {
            throw errorOf(error, error instanceof Error && error.name === "ReplyError", error instanceof Error && error.message.includes("enableOfflineQueue"));
        }
    }

    close(): void { this.#connection.disconnect(); }
}

class NodeRedisDriver implements Driver {
    readonly #connection: NodeRedisConnection;
    readonly #first: FirstAttempt;

    constructor(client: NodeRedisClient) {
        this.#connection = client.duplicate({
            disableOfflineQueue: true, commandsQueueMaxLength: 20_000,
            socket: { ...socketOf(client), connectTimeout: 1000, reconnectStrategy: (times: number) => Math.min(50 * (times + 1), 400) },
        });
        this.#first = new FirstAttempt(this.#connection);
        this.#connection.connect().catch(() => undefined);
    }

    async send(words: readonly Word[], call: { readonly isOver: boolean }): Promise<unknown> {
        await this.#first.wait(call);
        if (!this.#connection.isReady) {
            throw new UnavailableError("not-sent", "there is no connection to Stint");
        }
        try {
            return await this.#connection.sendCommand(words.map((word) => (typeof word === "number" ? String(word) : word)));
        } catch (error) {
            throw errorOf(error, error instanceof Error && /^(Simple|Blob)?Error(Reply)?$/.test(error.constructor.name) && /^[A-Z]+ /.test(error.message), false);
        }
    }

    close(): void {
        if (this.#connection.destroy) {
            this.#connection.destroy();
        } else {
            void this.#connection.disconnect?.().catch(() => undefined);
        }
    }
}

/** The socket options of a client, which duplicate replaces as a whole. */
function socketOf(client: NodeRedisClient): object {
    return (client as { options?: { socket?: object } }).options?.socket ?? {};
}

function errorOf(error: unknown, isReply: boolean, isNotSent: boolean): StintError {
    const text = error instanceof Error ? error.message : String(error);
    if (isReply) {
        return ofReply(text);
    }
    return new UnavailableError(isNotSent ? "not-sent" : "connection", `the connection to Stint failed: ${text}`, { cause: error });
}
