// Marks the files of dist/cjs as CommonJS, because the package itself is "type": "module".
import { writeFileSync } from "node:fs";

writeFileSync(new URL("../dist/cjs/package.json", import.meta.url), '{"type":"commonjs"}\n');
