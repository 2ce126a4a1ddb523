/** The command line on a poor machine: no HOME or TMPDIR, a deleted folder, tight limits, a full disk. Each end has a code. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeBigFile } from "../../testing/bigGguf.ts";
import type { Ended, RlxOptions } from "../../testing/rlxProcess.ts";
import { requireCommandLine, rlxProcess } from "../../testing/rlxProcess.ts";
import { reasonToSkip } from "../../testing/skipping.ts";

let folder: string;
let home: string;
beforeAll(async () => {
  requireCommandLine();
  folder = await mkdtemp(join(tmpdir(), "rlx-limits-"));
  home = join(folder, "home");
  await mkdir(join(folder, "disk"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const RUN = "run --sample -p Once -n 1";
const SIMULATED = `${RUN} --device coreml-sim`;

const start = (line: string, options: Partial<RlxOptions>): Promise<Ended> =>
  rlxProcess(line.replaceAll("DIR", folder).split(" "), { home, ...options });

/** One line of error and one of advice; neither a stack nor words of V8, and no empty promise of a signal. */
async function refuses(line: string, options: Partial<RlxOptions>, error: RegExp): Promise<void> {
  const { code, signal, err } = await start(line, options);
  expect({ code, signal }).toEqual({ code: 1, signal: null });
  expect(err).toMatch(error);
  expect(err).toMatch(/^error [^\n]+\n {2}→ [^\n]+\n$/m);
  expect(err).not.toMatch(/\n\s+at |FATAL|BUG_/);
}

const HOMES = { HOME: undefined, RLX_HOME: undefined, XDG_DATA_HOME: undefined, XDG_CACHE_HOME: undefined };

describe("an environment without folders", () => {
  it.each([
    ["no HOME", HOMES],
    ["an empty HOME", { ...HOMES, HOME: "" }],
    ["an empty XDG_DATA_HOME", { ...HOMES, HOME: "DIR/user", XDG_DATA_HOME: "", XDG_CACHE_HOME: "" }],
    ["a HOME that cannot be there", { ...HOMES, HOME: "/dev/null/user" }],
  ])("%s: a model runs", async (_, env) => {
    const said = await start(RUN, {
      env: { ...env, ...(env.HOME === "DIR/user" && { HOME: join(folder, "user") }), RLX_CACHE: join(folder, "cache") },
    });
    expect(said).toMatchObject({ code: 0, signal: null, out: expect.stringMatching(/\w/) as string });
  });

  it("a missing TMPDIR is named by what needs it", () =>
    refuses(SIMULATED, { env: { TMPDIR: join(folder, "none") } }, /error ENV_IO: .* not there .*\/none/));

  it("a missing TMPDIR does not hinder what needs none", async () =>
    expect(await start(RUN, { env: { TMPDIR: join(folder, "none") } })).toMatchObject({ code: 0 }));
});

describe.skipIf(process.platform === "win32")("a working folder that was deleted (only Linux and macOS)", () => {
  const gone = { after: `d=$(mktemp -d) && cd "$d" && rmdir "$d"` };

  it.each(["inspect model.gguf", "compile --sample -o x.mlpackage", "serve model.gguf"])(
    "is the error of %s, which names a path in it",
    (line) => refuses(line, gone, /error ENV_IO: \[system\] the current folder no longer exists\n/),
  );

  it.each(["--help", RUN])("does not hinder %s", async (line) =>
    expect(await start(line, gone)).toMatchObject({ code: 0 }),
  );
});

const linux = process.platform === "linux";

describe.skipIf(!linux)("limits of the process (only Linux enforces them)", () => {
  it("too few files: the error names the limit, and one that suffices runs a model", async () => {
    await refuses(
      RUN,
      { after: "ulimit -n 20" },
      /error ENV_IO: \[system\] too many files are open[^\n]+\n.*ulimit -n/,
    );
    expect(await start(RUN, { after: "ulimit -n 48" })).toMatchObject({ code: 0 });
  });

  it.each([900_000, 1_050_000, 1_150_000])("%i kB of address space: refused before V8 aborts", (limit) =>
    refuses(
      RUN,
      { after: `ulimit -v ${limit}` },
      /error ENV_NO_MEMORY: \[rlx\] address space: got .*, expected .*\n.*-v/,
    ),
  );

  it.each([RUN, SIMULATED, "compile --sample -o DIR/limited.mlpackage"])(
    "the least address space suffices for %s",
    async (line) => expect(await start(line, { after: "ulimit -v 1572864" })).toMatchObject({ code: 0 }),
  );

  it("a model larger than the address space is refused by its size", async () => {
    writeBigFile(join(folder, "big.gguf"));
    await refuses(
      "run DIR/big.gguf -p a -n 1",
      { after: "ulimit -v 4000000" },
      /error ENV_NO_MEMORY: \[weights\] cannot map/,
    );
  });
});

describe.skipIf(!existsSync("/dev/full"))("standard output on a full disk (not without /dev/full)", () => {
  it.each(["graph --deep --json", "inspect --sample --metadata", "serve", "--help"])("ends %s", async (line) => {
    expect(await start(line, { after: "exec >/dev/full" })).toMatchObject({
      code: 1,
      err: "error OUTPUT_WRITE: [rlx] cannot write to standard output: the disk is full\n",
    });
  });
});

const noDisk = reasonToSkip(linux ? undefined : "only Linux has user namespaces");

describe.skipIf(noDisk)(`a full disk ${noDisk ?? ""}`, () => {
  /** A disk of 1 MiB that only this command sees, and what a shell says of it at the end. */
  const disk = (used = 0) => ({
    after: `exec unshare -rm sh -c 'mount -t tmpfs -o size=1m none "${folder}/disk" && head -c ${used} /dev/zero >"${folder}/disk/used" && "$0" "$@"; code=$?; ls -A "${folder}/disk" | grep -v used; exit $code' "$0" "$@"; true`,
  });
  const FULL = 2 ** 20;
  const NO_SPACE = /error ENV_IO: [^\n]+\n {2}→ [^\n]*[Ff]ree some space/;

  it.each([
    ["compile --sample -o DIR/disk/x.mlpackage", {}, 0],
    ["profile --sample --pp 2 --tg 2 --trace DIR/disk/t.json", {}, FULL - 4096],
    [SIMULATED, { TMPDIR: "DIR/disk" }, FULL],
  ])("ends %s, and leaves nothing there", async (line, env, used) => {
    const places = Object.fromEntries(Object.entries(env).map(([name, path]) => [name, path.replace("DIR", folder)]));
    const said = await start(line, { ...disk(used), env: places });
    expect(said).toMatchObject({ code: 1, signal: null, out: "", err: expect.stringMatching(NO_SPACE) as string });
  });

  it("as RLX_HOME costs the cache only", async () => {
    const { code, err } = await rlxProcess(RUN.split(" "), { home: join(folder, "disk"), ...disk(FULL) });
    expect(code).toBe(0);
    expect(err).not.toMatch(/error/);
  });
});
