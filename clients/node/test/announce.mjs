// Tells the process that has started this one the port at which it listens: node --import ./test/announce.mjs.
import { Server } from "node:net";

const { listen } = Server.prototype;

Server.prototype.listen = function (...given) {
    this.once("listening", () => { process.send?.(this.address().port); });
    return listen.apply(this, given);
};
