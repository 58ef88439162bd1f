// A server that answers every command by a reply that the test sets, except those with which drivers begin a connection. It answers CLUSTER
// apart, and does not count it.
import { createServer } from "node:net";

const beginnings = new Map([["CLIENT", "+OK"], ["PING", "+PONG"], ["HELLO", "%1\r\n+server\r\n+stint"]]);

/** A word as the vectors have it: bytes that are not UTF-8 as hex: and their digits. */
function shown(word) {
    const bytes = Buffer.from(word, "latin1"), text = bytes.toString("utf8");
    return Buffer.from(text).equals(bytes) ? text : `hex:${bytes.toString("hex")}`;
}

/** The first command in the text, as the words and the text behind it; undefined while it is not complete. */
function first(text) {
    let at = 0;
    const line = () => {
        const end = text.indexOf("\r\n", at), found = text.slice(at + 1, end);
        at = end + 2;
        return end < 0 ? NaN : Number(found);
    };
    const words = [];
    for (let left = line(); left !== 0; left--) {
        const size = line(), word = text.slice(at, at + size);
        at += size + 2;
        if (Number.isNaN(left) || Number.isNaN(size) || at > text.length) { return undefined; }
        words.push(word);
    }
    return { words, rest: text.slice(at) };
}

export class Scripted {
    reply = "+OK";
    replyTo = () => this.reply;
    slots = "-ERR This instance has cluster support disabled";
    commands = [];
    #sockets = new Set();
    #server = createServer((socket) => {
        this.#sockets.add(socket);
        let text = "";
        socket.on("error", () => undefined);
        socket.on("close", () => this.#sockets.delete(socket));
        socket.setEncoding("latin1").on("data", (data) => {
            text += data;
            for (let command = first(text); command; command = first(text)) {
                text = command.rest;
                socket.write(`${this.#answer(command.words)}\r\n`);
            }
        });
    });

    #answer(words) {
        const name = words[0].toUpperCase(), answer = name === "CLUSTER" ? this.slots : beginnings.get(name);
        if (answer === undefined) { this.commands.push(words.map(shown)); }
        return answer ?? this.replyTo(words);
    }

    /** Ignores what comes on the present connections. */
    ignorePresent() {
        for (const socket of this.#sockets) { socket.removeAllListeners("data").resume(); }
    }

    async listen(host = "127.0.0.1") {
        await new Promise((resolve) => this.#server.listen(0, host, resolve));
        return this.#server.address().port;
    }

    close() {
        for (const socket of this.#sockets) { socket.destroy(); }
        this.#server.close();
    }
}
