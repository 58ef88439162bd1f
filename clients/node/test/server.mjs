// A Stint server of a test, on a free port.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dir = mkdtempSync(join(tmpdir(), "stint-node-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
process.once("SIGTERM", () => { process.exit(1); }); // a test took too long; "exit" ends its servers

let built;

/** The path of the server's program. */
export function binary() {
    if (process.env.SERVER_BINARY) {
        return process.env.SERVER_BINARY;
    }
    if (!built) {
        built = join(dir, "stint");
        execFileSync("go", ["build", "-o", built, "./cmd/stint"], { cwd: new URL("../../..", import.meta.url), stdio: "inherit" });
    }
    return built;
}

export function freePort() {
    return new Promise((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

const startTimeout = 30_000; // milliseconds until a started server answers

/** Starts a server. It ends with this process at the latest. */
export async function startServer(...options) {
    const program = binary(), port = await freePort();
    let child, ended;
    const end = () => { child.kill("SIGKILL"); }; // also of a stopped process
    process.once("exit", end);
    const start = async () => {
        child = spawn(program, ["server", "--listen", `127.0.0.1:${port}`, "--admin", "", ...options], { stdio: "ignore" });
        ended = new Promise((resolve) => { child.once("close", resolve).once("error", resolve); });
        const deadline = performance.now() + startTimeout;
        while (!(await answers(port))) {
            assert.ok(child.exitCode === null && child.signalCode === null, `the server on port ${port} ended`);
            assert.ok(performance.now() < deadline, `the server on port ${port} does not answer`);
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    };
    await start();
    return {
        port, start,
        signal: (name) => child.kill(name),
        /** Sends SIGSTOP, and waits until it has taken effect. */
        stop: async () => {
            child.kill("SIGSTOP");
            while (readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1][0] !== "T") { await new Promise((resolve) => setTimeout(resolve, 1)); }
        },
        kill: async () => { end(); await ended; },
    };
}

function answers(port) {
    return new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n")).setTimeout(1000, () => socket.destroy());
        socket.once("data", () => { socket.destroy(); resolve(true); }).on("error", () => undefined).once("close", () => resolve(false));
    });
}
