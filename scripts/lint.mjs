// Type-aware lint (oxlint) and the import walls, side by side; fails when either finds something.
import { npmProgram, runCaptured } from "./lib/process.mjs";

const [lint, walls] = await Promise.all([
  runCaptured(npmProgram("oxlint"), ["--format=unix", ...process.argv.slice(2)]),
  runCaptured("node", ["scripts/walls.mjs"]),
]);
if (lint.code !== 0) console.error(lint.output.trim());
if (walls.code !== 0) console.error(walls.output.trim());
// `process.exit` would cut off what a pipe has not taken yet.
process.exitCode = lint.code !== 0 || walls.code !== 0 ? 1 : 0;
