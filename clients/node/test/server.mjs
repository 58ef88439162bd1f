// A Stint server of a test, on a free port.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dir = mkdtempSync(join(tmpdir(), "stint-node-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));

let built;

function binary() {
    if (process.env.SERVER_BINARY) {
        return process.env.SERVER_BINARY;
    }
    built ??= join(dir, "stint");
    execFileSync("go", ["build", "-o", built, "./cmd/stint"], { cwd: new URL("../../..", import.meta.url), stdio: "inherit" });
    return built;
}

function freePort() {
    return new Promise((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

export async function startServer() {
    const program = binary(), port = await freePort();
    let child;
    const start = async () => {
        child = spawn(program, ["server", "--listen", `127.0.0.1:${port}`, "--admin", ""], { stdio: "ignore" });
        while (!(await answers(port))) {
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    };
    await start();
    return {
        port, start,
        signal: (name) => child.kill(name),
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
