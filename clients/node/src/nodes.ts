import type { Call, Driver, Word } from "./driver.js";
import { UnavailableError } from "./errors.js";
import { Leaders } from "./leaders.js";

/** The most nodes, with those that redirections name. */
const mostNodes = 32;

/** Milliseconds without commands after a failure. They double with each one until the node answers. */
const firstPause = 1_000, longestPause = 60_000;

/** A server. */
export class Node {
    #pause = 0; // milliseconds; 0: it has answered since it failed last
    #end = 0; // of the pause, a time of performance.now()

    /** Address is its host and port, with a colon between them. */
    constructor(readonly address: string, readonly driver: Driver) {}

    /** Whether it failed lately and has not answered since. */
    get isPaused(): boolean { return this.#pause > 0 && performance.now() < this.#end; }

    answered(): void { this.#pause = 0; }

    /**
     * Begins a pause, unless there is one. A node whose reply was overdue, and that has not answered since its last pause, gets another
     * connection, because the present one may have died without a sign.
     */
    failed(isOverdue: boolean): void {
        if (this.isPaused) {
            return;
        }
        if (isOverdue && this.#pause > 0) {
            this.driver.renew?.(firstPause);
        }
        this.#pause = Math.min(2 * this.#pause || firstPause, longestPause);
        this.#end = performance.now() + this.#pause;
    }
}

/**
 * Sends each command to the node that leads the group of its key, and commands without a known leader to one of the nodes, always the same
 * while it answers. It goes on to the next when a connection fails, when a reply is overdue, and when a node replies that it cannot serve; it
 * follows a MOVED reply to the node that it names.
 */
export class Nodes implements Driver {
    readonly #leaders = new Leaders();
    readonly #nodes: Node[];
    #current: Node;

    /** At has the node with a host and a port. */
    constructor(first: Node, others: readonly Node[], private readonly at: (host: string, port: number) => Node) {
        this.#nodes = [first, ...others];
        this.#current = first;
    }

    send(words: readonly Word[], call: Call): Promise<unknown> { return this.#send(this.#for(words), words, call, this.#nodes.length); }

    renew(age: number): void { this.#nodes.forEach(({ driver }) => driver.renew?.(age)); }

    another(words: readonly Word[]): Driver { return this.#for(words).driver.another?.(words) ?? this; }

    close(): void { this.#nodes.forEach(({ driver }) => { driver.close(); }); }

    /** The node that leads the key of a command, or the current one if none is known or it is paused. */
    #for(words: readonly Word[]): Node {
        const leader = this.#nodes[this.#leaders.of(words)];
        return leader === undefined || leader.isPaused ? this.#current : leader;
    }

    #send(node: Node, words: readonly Word[], call: Call, others: number): Promise<unknown> {
        return this.#ask(node, words, call).catch((error: unknown) => {
            const leader = this.#moved(error);
            if (leader) {
                this.#learnIfDue();
                return this.#ask(leader, words, call);
            }
            if (cannotServe(error)) {
                this.#leave(node, false);
            }
            if (others > 0 && !call.isOver && error instanceof UnavailableError && error.reason === "not-sent") {
                return this.#send(this.#current, words, call, others - 1);
            }
            throw error;
        });
    }

    #ask(node: Node, words: readonly Word[], call: Call): Promise<unknown> {
        call.overdue = () => { this.#leave(node, true); };
        return node.driver.send(words, call).then((reply) => {
            if (!call.isOver) {
                node.answered();
            }
            this.#learnIfDue();
            return reply;
        });
    }

    /** Leaves a failed node alone for a while, and goes on to the node after it, unless that has been done already. */
    #leave(node: Node, isOverdue: boolean): void {
        node.failed(isOverdue);
        this.#leaders.distrust();
        if (this.#current === node) {
            this.#current = this.#nodes[(this.#nodes.indexOf(node) + 1) % this.#nodes.length] ?? node;
        }
    }

    /** Turns to the node that a MOVED reply names; undefined if the error is another one, or there is no room for another node. */
    #moved(error: unknown): Node | undefined {
        const [, host, port] = /^MOVED \d+ \[?(.+?)\]?:(\d+)$/.exec(error instanceof UnavailableError ? error.message : "") ?? [];
        if (host === undefined) {
            return undefined;
        }
        this.#leaders.distrust();
        let node = this.#nodes.find(({ address }) => address === `${host}:${port}`);
        if (node === undefined) {
            if (this.#nodes.length >= mostNodes) {
                return undefined;
            }
            node = this.at(host, Number(port));
            this.#nodes.push(node);
        }
        this.#current = node;
        return node;
    }

    /**
     * Asks for the leaders, if there are several nodes and it is time. Those at addresses that were neither given nor named by a redirection
     * stay unknown, because they may be out of reach from here.
     */
    #learnIfDue(): void {
        if (this.#nodes.length > 1 && this.#leaders.isDue(performance.now())) {
            this.#current.driver.send(["CLUSTER", "SLOTS"], { isOver: false }).then((reply) => {
                this.#leaders.learn(reply, (address) => this.#nodes.findIndex((node) => node.address === address));
            }).catch(() => undefined); // it is asked again
        }
    }
}

/** Whether a node could not serve, and another may. */
function cannotServe(error: unknown): boolean {
    return error instanceof UnavailableError && error.reason !== "overloaded" && !/^(OOM|LIMITED) /.test(error.message);
}
