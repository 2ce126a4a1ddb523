// Type-aware lint (oxlint) and the walls of TypeScript and C++, side by side; fails when one finds something.
import { npmProgram, runCaptured } from "./lib/process.mjs";

const results = await Promise.all([
  runCaptured(npmProgram("oxlint"), ["--format=unix", ...process.argv.slice(2)]),
  runCaptured("node", ["scripts/walls.mjs"]),
  runCaptured("node", ["scripts/nativeWalls.mjs"]),
]);
const failed = results.filter(({ code }) => code !== 0);
for (const { output } of failed) console.error(output.trim());
// `process.exit` would cut off what a pipe has not taken yet.
process.exitCode = failed.length > 0 ? 1 : 0;
