// Which test runs where. A file's name says what it needs:
//   name.test.ts         nothing but Node: runs in `npm run check`
//   name.native.test.ts  the built addon
//   name.oracle.test.ts  the Python oracle or llama.cpp
//   name.slow.test.ts    minutes, not seconds
// The last three run in `npm test` only. How the oracles are used: docs/testing.md.
import { defineConfig } from "vitest/config";

const special = ["**/*.native.test.ts", "**/*.oracle.test.ts", "**/*.slow.test.ts"];
/** Where tests stand. Named, because a search of the whole folder also reads caches and the links in them. */
const rooms = "{app,main,proto,renderer,scripts}";
const outside = ["**/node_modules/**", "out/**", "e2e/**", ".venv/**", "native/build*/**"];

export default defineConfig({
  test: {
    // Two cores serve everything, so one worker less than the default leaves the machine usable.
    maxWorkers: 2,
    // They run beside each other: no benchmark would find the machine quiet.
    env: { RLX_ALLOW_THROTTLE: "1" },
    // The command line is loaded as Node loads it, once for each file (main/testing/rlx.ts).
    server: { deps: { external: [/\/out\/cli\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          // Files share their worker's modules: loading them anew for each of 160 files was two fifths of the time.
          isolate: false,
          include: ["{main,renderer,proto}/**/*.test.{ts,tsx}"],
          exclude: [...outside, ...special],
          // Shared machines are slow at times; a test that limits a time does so itself.
          testTimeout: 20_000,
        },
      },
      // These put a double in Electron's place, which must not stay for the next file.
      { extends: true, test: { name: "shell", include: ["app/**/*.test.ts"], exclude: [...outside, ...special] } },
      {
        extends: true,
        test: { name: "tools", include: ["scripts/**/*.test.ts"], exclude: outside, testTimeout: 60_000 },
      },
      {
        extends: true,
        test: { name: "native", include: [`${rooms}/**/*.native.test.ts`], exclude: outside, testTimeout: 60_000 },
      },
      {
        extends: true,
        test: {
          name: "oracle",
          // One worker keeps one Python process for all its files.
          isolate: false,
          include: [`${rooms}/**/*.oracle.test.ts`],
          exclude: outside,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "slow",
          include: [`${rooms}/**/*.slow.test.ts`],
          exclude: outside,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
