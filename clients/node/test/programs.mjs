// Runs programs of the documentation as their readers would.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";

import { endsWithParent } from "./server.mjs";

/** A program whose limiter waits longer, and whose limits give nothing back meanwhile, for a busy machine. */
export const patient = (program) => program.replaceAll("failOpen() }", "failOpen(), timeout: 60_000 }").replaceAll('"2/minute"', '"2/day"');

/** Starts a program in this package, where it finds @stintdb/client. It ends with this process at the latest. */
export function start(program) {
    const [node, ...given] = [...endsWithParent, "node", "--import", "./test/announce.mjs", "--input-type=module", "-e", patient(program)];
    const child = spawn(node, given, { cwd: new URL("..", import.meta.url), stdio: ["ignore", "pipe", "inherit", "ipc"] });
    const end = () => { child.kill("SIGKILL"); };
    process.once("exit", end);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { output += text; });
    const ended = new Promise((resolve) => child.once("close", () => { process.removeListener("exit", end); resolve(output); }));
    const port = new Promise((resolve) => child.once("message", resolve));
    return { child, ended, port };
}

/** The statuses of three requests to a program that listens on port 3000, which is replaced by one of the system's choice. */
export async function threeStatuses(program) {
    assert.match(program, /3000/);
    const { child, ended, port } = start(program.replace("3000", "0"));
    try {
        const url = `http://127.0.0.1:${await Promise.race([port, ended.then(() => assert.fail("the program ended"))])}/search`;
        const statuses = [];
        while (statuses.length < 3) { statuses.push((await fetch(url)).status); }
        return statuses;
    } finally {
        child.kill("SIGKILL");
        await ended;
    }
}
