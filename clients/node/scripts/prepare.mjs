// Builds the package. npm runs this when it installs or packs the folder; where it installs the folder elsewhere, it brings no compiler.
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL("..", import.meta.url));
if (!existsSync(new URL("../node_modules/typescript", import.meta.url))) {
    execSync("npm ci --include=dev --ignore-scripts --prefer-offline --no-audit --no-fund", { cwd, stdio: "inherit" });
}
execSync("npm run build", { cwd, stdio: "inherit" });
