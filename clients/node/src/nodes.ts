import type { Call, Driver, Word } from "./driver.js";
import { UnavailableError } from "./errors.js";
import { Leaders } from "./leaders.js";

/** The most nodes, with those that redirections name. */
const mostNodes = 32;

/** A server. */
export interface Node {
    /** Its host and port, with a colon between them. */
    readonly address: string;
    readonly driver: Driver;
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

    /** The node that leads the key of a command, or the current one. */
    #for(words: readonly Word[]): Node {
        return this.#nodes[this.#leaders.of(words)] ?? this.#current;
    }

    #send(node: Node, words: readonly Word[], call: Call, others: number): Promise<unknown> {
        return this.#ask(node, words, call).then((reply) => {
            this.#learnIfDue();
            return reply;
        }, (error: unknown) => {
            const leader = this.#moved(error);
            if (leader) {
                this.#learnIfDue();
                return this.#ask(leader, words, call);
            }
            if (cannotServe(error)) {
                this.#leave(node);
            }
            if (others > 0 && !call.isOver && error instanceof UnavailableError && error.reason === "not-sent") {
                return this.#send(this.#current, words, call, others - 1);
            }
            throw error;
        });
    }

    #ask(node: Node, words: readonly Word[], call: Call): Promise<unknown> {
        call.overdue = () => { this.#leave(node); };
        return node.driver.send(words, call);
    }

    /** Goes on to the node after this one, unless that has been done already, and forgets what it leads. */
    #leave(node: Node): void {
        const place = this.#nodes.indexOf(node);
        this.#leaders.forget(place);
        if (this.#current === node) {
            this.#current = this.#nodes[(place + 1) % this.#nodes.length] ?? node;
        }
    }

    /** Turns to the node that a MOVED reply names; undefined if the error is another one, or there is no room for another node. */
    #moved(error: unknown): Node | undefined {
        const [, host, port] = /^MOVED \d+ (.+):(\d+)$/.exec(error instanceof UnavailableError ? error.message : "") ?? [];
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
