// A driver whose replies a test decides.
export class FakeDriver {
    sent = [];
    closed = false;

    /** @param reply called with the words of each command; its value is the reply, and an error is thrown. */
    constructor(reply) { this.reply = reply; }

    async send(words) {
        this.sent.push(words.map(String));
        return await this.reply(words, this.sent.length);
    }

    close() { this.closed = true; }
}

export const forever = () => new Promise(() => {});
