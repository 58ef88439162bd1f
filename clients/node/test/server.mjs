// A Stint server of a test, on a free port.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dir = mkdtempSync(join(tmpdir(), "stint-node-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));

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

export async function startServer(...options) {
    const program = binary(), port = await freePort();
    let child;
    const start = async () => {
        child = spawn(program, ["server", "--listen", `127.0.0.1:${port}`, "--admin", "", ...options], { stdio: "ignore" });
        while (!(await answers(port))) {
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
        kill: () => new Promise((resolve) => { child.once("exit", resolve); child.kill("SIGCONT"); child.kill("SIGKILL"); }),
    };
}

function answers(port) {
    return new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
        socket.on("data", () => { socket.destroy(); resolve(true); });
        socket.on("error", () => resolve(false));
    });
}
