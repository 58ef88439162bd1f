// A driver whose replies a test decides.
export class FakeDriver {
    sent = [];
    closed = false;

    /** @param reply called with the words of each command; its value is the reply, and an error is thrown. */
    constructor(reply) { this.reply = reply; }

    async send(words) {
        this.sent.push(words.map(shown));
        return await this.reply(words, this.sent.length);
    }

    close() { this.closed = true; }
}

/** A word as the vectors write it. */
function shown(word) {
    const bytes = Buffer.from(typeof word === "number" ? String(word) : word), text = bytes.toString();
    return Buffer.from(text).equals(bytes) ? text : `hex:${bytes.toString("hex")}`;
}

export const forever = () => new Promise(() => {});
