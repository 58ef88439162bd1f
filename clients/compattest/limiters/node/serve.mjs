// The common part of the programs, each of which limits calls with one library as its users do.
//
// A program prints "uses LIBRARY VERSION". For each line "KEY CALLS" of its standard input it then makes that many calls
// with a new limiter and prints "passed N" with the number that passed, or "failed" and the reason.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

export const address = process.argv[2];
export const [host, port] = address.split(":");

// serve answers the lines. open makes the limiter of a key and returns the function that makes one call.
export async function serve(library, open) {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${library}/package.json`, import.meta.url)));
  console.log(`uses ${library} ${version}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const [key, calls] = line.split(" ");
    try {
      const call = await open(key);
      let passed = 0;
      for (let i = 0; i < Number(calls); i++) passed += (await call()) ? 1 : 0;
      console.log(`passed ${passed}`);
    } catch (error) {
      console.log(`failed ${String(error?.message ?? error).replaceAll("\n", " ")}`);
    }
  }
  process.exit();
}

// requests returns a function that makes one request of a web server with this handler.
export async function requests(handler) {
  const server = createServer(handler);
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return async () => {
    const response = await fetch(`http://127.0.0.1:${server.address().port}/`);
    return granted(response.status, await response.text());
  };
}

// granted reports whether a response is the page and not a denial.
export function granted(status, body) {
  if (status !== 200 && status !== 429) throw new Error(`HTTP ${status}: ${body}`);
  return status === 200;
}
