import type { EventEmitter } from "node:events";
import { shown } from "./arguments.js";
import { Node, Nodes } from "./nodes.js";
import type { Time } from "./time.js";
import { InvalidError, type StintError, UnauthenticatedError, UnavailableError, ofReply } from "./errors.js";

/** A word of a command. */
export type Word = string | number | Buffer;

/** The call that a command is sent for. */
export interface Call {
    /** Whether the caller has left. */
    readonly isOver: boolean;
    /** Called when the caller leaves because there was no reply in time. */
    overdue?: () => void;
}

/** A connection to the server that sends every command at most once. */
export interface Driver {
    /**
     * Sends a command and returns its reply; it throws an error of this package. It may never settle. It sends nothing any more once
     * `call.isOver`.
     */
    send(words: readonly Word[], call: Call): Promise<unknown>;
    /** Makes another connection in place of the present one, if that is so many milliseconds old. */
    renew?(age: number): void;
    /**
     * Another connection to the server that is asked for these words, which it holds back, and with them all that comes
     * after.
     */
    another?(words: readonly Word[]): Driver;
    /** Ends the connection. */
    close(): void;
    /** The time of a server in memory; that of the machine by default. */
    readonly time?: Time;
}

/** The events of a connection: it is ready for commands, or it has failed and tries again. */
interface Connection {
    on(event: "error" | "ready", listener: (error?: Error) => void): unknown;
}

/** A library for Redis, with the connections C that it makes. */
interface Library<C extends Connection> {
    /** A connection that neither queues nor repeats commands. */
    open(): C;
    /** Sends a command, and returns its reply. */
    ask(connection: C, words: readonly Word[]): Promise<unknown>;
    /** The error of this package for one of ask. */
    errorOf(error: unknown): StintError;
    /** Ends a connection. */
    end(connection: C): void;
}

/** The part of an ioredis client that is used. */
export interface IoredisClient {
    duplicate(options: Record<string, unknown>): IoredisConnection;
}

interface IoredisConnection extends Connection {
    call(command: string, args: Word[]): Promise<unknown>;
    disconnect(): void;
}

/** The part of a node-redis client that is used. */
export interface NodeRedisClient {
    duplicate(options: Record<string, unknown>): NodeRedisConnection;
    readonly isOpen: boolean;
}

interface NodeRedisConnection extends Connection {
    sendCommand(args: (string | Buffer)[]): Promise<unknown>;
    connect(): Promise<unknown>;
    destroy?(): void;
    disconnect?(): Promise<unknown>;
    readonly isReady: boolean;
}

/** A client of ioredis or of node-redis. */
export type Client = IoredisClient | NodeRedisClient;

/** Throws {@link InvalidError} for all that is no client of one server, no list of them and no driver, such as a URL. */
export function mustBeClients(given: unknown): void {
    [given].flat().forEach(mustBeClient);
}

function mustBeClient(client: unknown): void {
    const given = Object(client) as Record<string, unknown>, { send, duplicate } = given;
    if (given["isCluster"] === true || "nodeClient" in given) { // of ioredis, of node-redis
        throw new InvalidError("client: must be of one node, such as new Redis(6379), got a client of a cluster, which sends commands again: they would take their tokens twice");
    }
    if (typeof send !== "function" && typeof duplicate !== "function") {
        throw new InvalidError(`client: must be a client of ioredis or of node-redis, such as new Redis(6379), got ${shown(client)}`);
    }
}

/**
 * The driver for clients of one server, or of some nodes of a cluster. It has second connections with the client's address, password and
 * TLS, which do not queue or repeat.
 */
export function driverOf(clients: readonly Client[]): Driver {
    const [first, ...others] = clients;
    if (first === undefined) {
        throw new InvalidError("client: needs one, such as new Redis(6379), got []");
    }
    clients.forEach(ignoreErrors);
    return new Nodes(nodeOf(first), others.map((client) => nodeOf(client)), (host, port) => nodeOf(first, { host, port }));
}

/** The host and port of a server. */
interface Address { host?: string; port?: number }

/** The node of a client, or one with its settings at another address. */
function nodeOf(client: Client, elsewhere?: Address): Node {
    const { host = "localhost", port = 6379 } = elsewhere ?? addressOf(client);
    const driver = "isOpen" in client ? new ReconnectingDriver(nodeRedis(client, elsewhere)) : new ReconnectingDriver(ioredis(client, elsewhere));
    return new Node(`${host}:${port}`, driver);
}

function addressOf(client: Client): Address {
    const { options } = client as { options?: Address & { socket?: Address } };
    return "isOpen" in client ? options?.socket ?? {} : options ?? {};
}

/** The first attempt to connect. Calls wait for its end: a program that has just started is connected in a moment. */
class FirstAttempt {
    #isOver = false;
    readonly #over: Promise<void>;

    constructor(connection: Connection) {
        this.#over = new Promise((resolve) => {
            const end = (): void => { this.#isOver = true; resolve(); };
            connection.on("ready", end);
            connection.on("error", end); // each call has its own error
        });
    }

    /** The value of send, at once or after the first attempt. */
    before(call: Call, send: () => Promise<unknown>): Promise<unknown> {
        return this.#isOver ? send() : this.#over.then(() => {
            if (call.isOver) {
                throw new UnavailableError("not-sent", "there was no connection to Stint in time");
            }
            return send();
        });
    }
}

/** Milliseconds before the next try to connect: with the time to the breaker's next probe, less than 500 after the server's return. */
const reconnectAfter = (times: number): number => Math.min(50 * (times + 1), 100);

/** Why a connection is not ready, until it is: the cause of the errors of commands that could not be sent. */
class LastError {
    #error: Error | undefined;

    watch(connection: Connection): void {
        connection.on("ready", () => { this.#error = undefined; });
        connection.on("error", (error) => { // each call has its own error
            const isRefusal = this.#error !== undefined && ofReply(this.#error.message) instanceof UnauthenticatedError;
            this.#error = isRefusal ? this.#error : error;
        });
    }

    /** The error in place of one for a command that was not answered. */
    or(error: StintError): StintError {
        if (this.#error === undefined || !(error instanceof UnavailableError)) {
            return error;
        }
        const refusal = ofReply(this.#error.message);
        if (refusal instanceof UnauthenticatedError) {
            return refusal;
        }
        return error.reason === "not-sent" ? unavailable(this.#error, "not-sent") : error;
    }
}

/** A driver with one connection of a library at a time. */
class ReconnectingDriver<C extends Connection> implements Driver {
    readonly #lastError = new LastError();
    #connection: C;
    #opened = 0; // time of performance.now()
    readonly #first: FirstAttempt;

    constructor(private readonly library: Library<C>) {
        this.#connection = this.#open();
        this.#first = new FirstAttempt(this.#connection);
    }

    #open(): C {
        this.#opened = performance.now();
        const connection = this.library.open();
        this.#lastError.watch(connection);
        return connection;
    }

    send(words: readonly Word[], call: Call): Promise<unknown> {
        return this.#first.before(call, () => this.library.ask(this.#connection, words).catch((error: unknown) => {
            throw this.#lastError.or(this.library.errorOf(error));
        }));
    }

    renew(age: number): void {
        if (performance.now() - this.#opened >= age) {
            this.close();
            this.#connection = this.#open();
        }
    }

    another(): Driver { return new ReconnectingDriver(this.library); }

    close(): void { this.library.end(this.#connection); }
}

function ioredis(client: IoredisClient, elsewhere?: Address): Library<IoredisConnection> {
    return {
        open: () => client.duplicate({
            ...(elsewhere && { ...elsewhere, path: undefined }),
            lazyConnect: false, enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0,
            enableReadyCheck: false, connectTimeout: 1000, retryStrategy: reconnectAfter,
        }),
        ask: (connection, words) => connection.call(String(words[0]), words.slice(1)),
        errorOf: (error) => (error instanceof Error && error.name === "ReplyError" ? ofReply(error.message)
            : unavailable(error, error instanceof Error && error.message.includes("enableOfflineQueue") ? "not-sent" : "connection")),
        end: (connection) => { connection.disconnect(); },
    };
}

function nodeRedis(client: NodeRedisClient, elsewhere?: Address): Library<NodeRedisConnection> {
    return {
        open: () => {
            const connection = client.duplicate({
                ...(elsewhere && { url: undefined }), disableOfflineQueue: true, commandsQueueMaxLength: 20_000, commandOptions: { timeout: 0 }, // each call has its own deadline
                socket: { ...socketOf(client), ...elsewhere, connectTimeout: 1000, reconnectStrategy: reconnectAfter },
            });
            connection.connect().catch(ignore);
            return connection;
        },
        ask: (connection, words) => (connection.isReady ? connection.sendCommand(words.map((word) => (typeof word === "number" ? String(word) : word)))
            : Promise.reject(new UnavailableError("not-sent", "there is no connection to Stint"))),
        errorOf: (error) => {
            if (error instanceof UnavailableError) {
                return error;
            }
            return error instanceof Error && /^(Simple|Blob)?Error(Reply)?$/.test(error.constructor.name) && /^[A-Z]+ /.test(error.message)
                ? ofReply(error.message) : unavailable(error, "connection");
        },
        end: (connection) => {
            if (connection.destroy) {
                connection.destroy();
            } else {
                void connection.disconnect?.().catch(ignore);
            }
        },
    };
}

/**
 * Keeps the program alive when its own client loses Stint: without a listener, node-redis ends it, and ioredis prints every attempt to
 * connect. The listener stays when the limiter is closed, because the client still tries to connect.
 */
function ignoreErrors(client: Client): void {
    const emitter = client as Partial<EventEmitter>;
    if (emitter.listenerCount?.("error") === 0) {
        emitter.on?.("error", ignore);
    }
}

/** For errors of a connection: each call has its own error. */
function ignore(): void { /* nothing to do */ }

/** The socket options of a client, which duplicate replaces as a whole. */
function socketOf(client: NodeRedisClient): object {
    return (client as { options?: { socket?: object } }).options?.socket ?? {};
}

function unavailable(error: unknown, reason: "not-sent" | "connection"): UnavailableError {
    const text = error instanceof Error ? error.message : String(error);
    return new UnavailableError(reason, `the connection to Stint failed: ${text}`, { cause: error });
}
