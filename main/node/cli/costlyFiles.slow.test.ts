/**
 * Files that are made to cost, given to the real command line. Each opens or is refused within 1 s of processor time and 256 MiB
 * above what the same command takes for the sample model.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeHeader } from "../../formats/gguf/write.ts";
import { COSTLY_FILES } from "../../testing/costlyFiles.ts";
import { allowedFor } from "../../testing/pace.ts";
import { saidPeakBytes, SAYS_PEAK } from "../../testing/peakMemory.ts";
import { CLI_BUNDLE, requireCommandLine } from "../../testing/rlxProcess.ts";

const PROMISED_MS = 1000;
const SAYS_TIME = `data:text/javascript,${encodeURIComponent(`
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    process.stderr.write("\\n" + (user + system) + " microseconds");
  });
`)}`;

let folder: string;
beforeAll(() => {
  requireCommandLine();
  folder = mkdtempSync(join(tmpdir(), "rlx-costly-"));
  writeFileSync(join(folder, "short.txt"), "a text");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Cost {
  readonly code: number | null;
  readonly err: string;
  readonly seconds: number;
  readonly bytes: number;
}

function costOf(words: readonly string[]): Cost {
  const preloads = [SAYS_TIME, SAYS_PEAK].flatMap((preload) => ["--import", preload]);
  const { status, stderr } = spawnSync(process.execPath, [...preloads, CLI_BUNDLE, ...words], {
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, RLX_HOME: join(folder, "home") },
  });
  const seconds = Number(/(\d+) microseconds/.exec(stderr)?.[1]) / 1e6;
  return { code: status, err: stderr, seconds, bytes: saidPeakBytes(stderr) };
}

const COMMANDS: Readonly<Record<string, (model: string, text: string) => readonly string[]>> = {
  inspect: (model) => ["inspect", model],
  tokenize: (model, text) => ["tokenize", model, "--text-file", text, "--json"],
};

/** What each command takes for the sample model. */
const idle = new Map<string, Cost>();
beforeAll(() => {
  for (const [name, words] of Object.entries(COMMANDS)) {
    const cost = costOf(words("--sample", join(folder, "short.txt")));
    expect(cost.code, cost.err).toBe(0);
    idle.set(name, cost);
  }
});

describe.each(Object.entries(COSTLY_FILES))("%s", (_, { file, text = "a text", likeAnother = false }) => {
  const [model, said] = [(): string => join(folder, "costly.gguf"), (): string => join(folder, "text.txt")];
  beforeAll(() => {
    writeFileSync(model(), encodeHeader({ entries: file(), tensors: [] }).bytes);
    writeFileSync(said(), text);
  });

  // Where only the text meets what is costly, the command that reads it opens the file too.
  it.each(likeAnother ? ["tokenize"] : Object.keys(COMMANDS))("rlx %s", async (name) => {
    const { code, err, seconds, bytes } = costOf(COMMANDS[name]!(model(), said()));
    if (code !== 0) expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^error INPUT_/m) as string });
    const spent = (seconds - idle.get(name)!.seconds) * 1000;
    const { ms, sentence } = await allowedFor(spent, PROMISED_MS);
    expect(spent, sentence).toBeLessThan(ms);
    expect(bytes - idle.get(name)!.bytes).toBeLessThan(256 << 20);
  });
});
