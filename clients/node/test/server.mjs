// A Stint server of a test, on a port of its choice.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const dir = mkdtempSync(join(tmpdir(), "stint-node-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
process.once("SIGTERM", () => { process.exit(1); }); // a test took too long; "exit" ends its servers

/** A port at which nobody listens: no system hands it out, and only a service that nobody runs has it. */
export const nowhere = 1;

let built;

/** The path of the server's program. */
export function binary() {
    if (process.env.SERVER_BINARY) {
        return process.env.SERVER_BINARY;
    }
    if (!built) {
        built = join(dir, "stint");
        execFileSync("go", ["build", "-o", built, "./cmd/stint"], { cwd: new URL("../../..", import.meta.url), stdio: "inherit", timeout: 600_000 });
    }
    return built;
}

/** The beginning of a command line whose program is killed when this process ends, however it ends, where there is setpriv. */
export const endsWithParent = existsSync("/usr/bin/setpriv") ? ["setpriv", "--pdeathsig", "KILL", "--"] : [];

const startTimeout = 60_000; // milliseconds until a started server accepts connections

/** Starts a server. It ends with this process at the latest. */
export async function startServer(...options) {
    let child, ended, addresses;
    const end = () => { child.kill("SIGKILL"); }; // also of a stopped process
    process.once("exit", end);
    const start = async () => {
        const [program, ...given] = [...endsWithParent, binary(), "server", "--listen", "127.0.0.1:0", "--admin", "", ...options];
        child = spawn(program, given, { stdio: ["ignore", "pipe", "inherit"] });
        ended = new Promise((resolve) => { child.once("close", resolve).once("error", resolve); });
        addresses = await Promise.race([ready(child.stdout), ended.then(() => assert.fail("the server ended")), late()]);
    };
    await start();
    return {
        /** Starts it again, on another port. */
        start,
        get port() { return Number(/:(\d+)/.exec(addresses)[1]); },
        get httpPort() { return Number(/:(\d+) \(HTTP\)/.exec(addresses)[1]); },
        signal: (name) => child.kill(name),
        /** Sends SIGSTOP, and waits until it has taken effect. */
        stop: async () => {
            child.kill("SIGSTOP");
            while (readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1][0] !== "T") { await new Promise((resolve) => setTimeout(resolve, 1)); }
        },
        kill: async () => { end(); await ended; },
    };
}

/** The addresses that a server prints once it accepts connections. What it prints later is read and dropped. */
function ready(output) {
    return new Promise((resolve) => {
        createInterface({ input: output }).on("line", (line) => {
            const [, addresses] = /^ready: accepting connections on (.*)/.exec(line) ?? [];
            if (addresses) { resolve(addresses); }
        });
    });
}

function late() {
    return new Promise((_, reject) => {
        setTimeout(() => { reject(new Error(`the server accepts no connections within ${startTimeout} ms`)); }, startTimeout).unref();
    });
}
