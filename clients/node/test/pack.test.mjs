// The package that `npm pack` makes of a fresh checkout, without a build before.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));

// paths are the files behind the exports of a package.
function paths(exports) {
    return typeof exports === "string" ? [exports.replace("./", "")] : Object.values(exports).flatMap(paths);
}

test("npm pack builds", { timeout: 300_000 }, (t) => {
    const checkout = mkdtempSync(join(tmpdir(), "pack-"));
    t.after(() => { rmSync(checkout, { recursive: true }); });
    for (const name of ["package.json", "tsconfig.json", "tsconfig.cjs.json", "scripts", "src", "README.md"]) {
        cpSync(join(folder, name), join(checkout, name), { recursive: true });
    }
    symlinkSync(join(folder, "node_modules"), join(checkout, "node_modules"));
    const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: checkout, encoding: "utf8", timeout: 280_000 });
    const [packed] = JSON.parse(output.slice(output.indexOf("[\n")));
    const files = new Set(packed.files.map((file) => file.path));
    const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    assert.ok(page.includes(`/${packed.filename} `), `README.md installs another file than ${packed.filename}`);
    const { exports } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
    assert.deepEqual(paths(exports).filter((path) => !files.has(path)), []);
    assert.ok(files.has("dist/cjs/package.json"), "without it, the files for CommonJS count as ES modules");
});
