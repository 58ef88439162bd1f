import { BlockList, isIP } from "node:net";
import { InvalidError } from "../errors.js";

/** Returns the prefix that stands for a client, "" if remote is no address. */
export type Resolver = (remote: string, forwarded: string) => string;

/**
 * Identifies clients by their addresses: each IPv4 address, and each /64 of IPv6 addresses, is one client. It goes through the
 * forwarded addresses from right to left while the current one is a trusted proxy's, such as "10.0.0.0/8" or "192.0.2.1".
 */
export function resolver(trustedProxies: readonly string[] = []): Resolver {
    const trusted = new BlockList();
    for (const network of trustedProxies) {
        const [address = "", bits] = network.split("/");
        const version = isIP(address), most = version === 4 ? 32 : 128;
        const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
        if (version === 0 || !(length <= most)) {
            throw new InvalidError(`trustedProxies: must be addresses or networks such as "10.0.0.0/8", got ${JSON.stringify(network)}`);
        }
        trusted.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
    }
    return (remote, forwarded) => {
        let client = parse(remote);
        const hops = forwarded.split(",");
        while (client !== "" && hops.length > 0 && trusted.check(client, isIP(client) === 4 ? "ipv4" : "ipv6")) {
            const next = parse((hops.pop() ?? "").trim());
            if (next === "") {
                break;
            }
            client = next;
        }
        return client === "" ? "" : isIP(client) === 4 ? `${client}/32` : `${first64(client)}/64`;
    };
}

/** The address in text with or without a port, in brackets or not; "" if there is none. */
function parse(text: string): string {
    const inBrackets = /^\[([^\]]*)\]/.exec(text)?.[1];
    const withPort = /^([^:]*):[^:]*$/.exec(text)?.[1];
    const address = (inBrackets ?? withPort ?? text).split("%")[0] ?? "";
    switch (isIP(address)) {
        case 4: return address;
        case 6: return mapped(address) ?? address;
        default: return "";
    }
}

/** The eight groups of an IPv6 address, as numbers. */
function groups(address: string): number[] {
    const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
    const [head = "", tail] = short.split("::");
    const read = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => parseInt(group, 16)));
    const before = read(head), after = read(tail ?? "");
    return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** What stands before an IPv4 address in an IPv6 address: that of sockets, and that of NAT64 (RFC 6052), behind which each is another client. */
const beforeIPv4 = ["0,0,0,0,0,65535", "100,65435,0,0,0,0"];

/** The IPv4 address that an IPv6 address stands for. */
function mapped(address: string): string | undefined {
    const all = groups(address);
    const [high = 0, low = 0] = all.slice(6);
    return beforeIPv4.includes(all.slice(0, 6).join(",")) ? [high >> 8, high & 255, low >> 8, low & 255].join(".") : undefined;
}

function first64(address: string): string {
    const text = [...groups(address).slice(0, 4), 0, 0, 0, 0].map((n) => n.toString(16)).join(":");
    return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}
