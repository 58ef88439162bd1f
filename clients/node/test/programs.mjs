// Runs programs of the documentation as their readers would.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";

import { freePort } from "./server.mjs";

/** Starts a program in this package, where it finds @stintdb/client. */
export function start(program) {
    const patient = program.replaceAll("failOpen() }", "failOpen(), timeout: 10_000 }"); // for a busy machine
    const child = spawn("node", ["--input-type=module", "-e", patient], { cwd: new URL("..", import.meta.url), stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { output += text; });
    const ended = new Promise((resolve) => child.once("close", () => resolve(output)));
    return { child, ended };
}

/** The statuses of three requests to a program that listens on port 3000, which is replaced. */
export async function threeStatuses(program) {
    const port = await freePort(), { child, ended } = start(program.replace("3000", String(port)));
    try {
        const statuses = [];
        while (statuses.length < 3) {
            assert.equal(child.exitCode, null, "the program ended");
            const status = await fetch(`http://127.0.0.1:${port}/search`).then((response) => response.status, () => undefined);
            if (status === undefined) {
                await new Promise((resolve) => setTimeout(resolve, 20));
            } else {
                statuses.push(status);
            }
        }
        return statuses;
    } finally {
        child.kill("SIGKILL");
        await ended;
    }
}
