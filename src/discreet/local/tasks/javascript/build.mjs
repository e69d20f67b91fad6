// Writes discreet.min.js with esbuild (npm install --no-save esbuild, or ESBUILD=/path/to/it). Its first line is the
// SHA-256 of the source, by which a test sees that it is of this source.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const here = new URL(".", import.meta.url).pathname;
const source = readFileSync(here + "discreet.js");
const esbuild = process.env.ESBUILD ?? here + "node_modules/.bin/esbuild";
const small = execFileSync(esbuild, ["--minify", "--tree-shaking=true", "--format=esm", "--target=es2022", here + "discreet.js"]);
const seal = createHash("sha256").update(source).digest("hex");
writeFileSync(here + "discreet.min.js", `//${seal}\n${small}`);
