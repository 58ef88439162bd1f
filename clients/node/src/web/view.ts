import type { IncomingMessage } from "node:http";

/** The parts of a request that keys are made of, in each framework. */
export interface View {
    method: string;
    /** Without the query; below a mount of Express, the whole path. */
    path: string;
    /** The address at the other end of the connection, "" if it is not known. */
    remote: string;
    /** The value of a field by its name in lower case, several of them joined by commas; "" if there is none. */
    header: (name: string) => string;
}

/** The view of a request of Node's http module. */
export function viewOf(message: IncomingMessage): View {
    const target = "originalUrl" in message ? String(message.originalUrl) : (message.url ?? ""); // Express shortens url below a mount
    return {
        method: message.method ?? "",
        path: target.split("?")[0] ?? "",
        remote: message.socket.remoteAddress ?? "",
        header: (name) => {
            const value = message.headers[name] ?? "";
            return typeof value === "string" ? value : value.join(",");
        },
    };
}
