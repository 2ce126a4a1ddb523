/** How a command ends early: ^C and other signals, readers that leave, a killed process, a terminal. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { commandFolder, SAMPLE } from "../../testing/commandFolder.ts";
import { allowedFor } from "../../testing/pace.ts";
import { CLI_BUNDLE, startRlx } from "../../testing/rlxProcess.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { INTERRUPTED } from "./output.ts";

const { folder, home, words, command } = commandFolder();

/** Compiled in half the time of the slow model. Its answers of 4000 tokens go on for seconds. */
const long = join(folder, "talk.gguf");
beforeAll(() => writeTinyGguf(long, { layers: 48 }), 60_000);

/** Files of this folder that belong to a package, finished or not. */
const left = async (name: string): Promise<string[]> => (await readdir(folder)).filter((each) => each.includes(name));

/** Has the compile told on stderr, which comes before the work itself. */
const TELLING = { RLX_DISPATCH_REPORT: "1" };
const COMPILED = /^dispatch for /m;
/** How long an interrupted command may take to end, in milliseconds. */
const PROMPTLY_MS = 1000;

async function expectPrompt(after: number): Promise<void> {
  const { ms, sentence } = await allowedFor(after, PROMPTLY_MS);
  expect(after, sentence).toBeLessThan(ms);
}
const cancelled = z.object({ error: z.object({ code: z.literal("CANCELLED") }) });
const number = z.number();
const stoppedAnswer = z.object({
  text: z.string(),
  device: z.literal("cpu"),
  truth: z.literal("measured"),
  reason: z.literal("cancelled"),
  stats: z.object({ promptTokens: number, generated: number, contextUsed: number, contextSize: number }),
});

/**
 * Interrupted once the pattern shows. --json keeps stdout silent until the end, so stderr is asked to tell of the compile: the
 * work itself begins shortly after it.
 */
const INTERRUPTIONS: readonly { readonly line: string; readonly when: RegExp; readonly json?: z.ZodType }[] = [
  { line: "run DIR/talk.gguf --threads 1 -p the -n 4000 --context 4096 --temperature 0", when: /\n.*Prefill/ },
  {
    line: "run DIR/talk.gguf --threads 1 -p the -n 4000 --context 4096 --temperature 0 --json",
    when: COMPILED,
    json: stoppedAnswer,
  },
  {
    line: "chat DIR/talk.gguf --threads 1 -m the -m again -n 4000 --context 4096 --temperature 0 --json",
    when: COMPILED,
    json: z.object({ answers: z.array(stoppedAnswer).length(1), messages: z.array(z.any()).length(2) }),
  },
  { line: "bench DIR/talk.gguf --threads 1 --pp 2000 --tg 2000 -r 100", when: /warm-up/ },
  { line: "bench DIR/talk.gguf --threads 1 --pp 2000 --tg 2000 -r 100 --json", when: COMPILED, json: cancelled },
  { line: "profile DIR/talk.gguf --threads 1 --pp 1500 --tg 1500 --json", when: COMPILED, json: cancelled },
  {
    line: "score DIR/talk.gguf --threads 1 --text-file DIR/long.txt --chunk 1 --json",
    when: COMPILED,
    json: cancelled,
  },
  { line: "compile SLOW -o DIR/slow.mlpackage", when: /Lowering/ },
  { line: "compile SLOW -o DIR/slow.mlpackage --json", when: COMPILED, json: cancelled },
];

describe("^C", () => {
  it.each(INTERRUPTIONS)("ends $line", { retry: 2 }, async ({ line, when, json }) => {
    const running = startRlx(words(line), { home, env: TELLING });
    await running.shows(when);
    if (when === COMPILED) await wait(300);
    const { code, signal, out, after } = await running.interrupt();
    expect({ code, signal }).toEqual({ code: INTERRUPTED, signal: null });
    await expectPrompt(after);
    json?.parse(JSON.parse(out));
    // Nothing half-written stays.
    expect(await left("slow.mlpackage")).toEqual([]);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("is not the only end: %s tidies up as well", { retry: 2 }, async (signal, expected) => {
    const writing = startRlx(words("compile SLOW -o DIR/ended.mlpackage"), { home });
    await writing.shows(/Lowering/);
    expect(await writing.interrupt(signal)).toMatchObject({ code: expected, signal: null });
    expect(await left("ended.mlpackage")).toEqual([]);
    const telling = startRlx(
      words("run DIR/talk.gguf --threads 1 -p the -n 4000 --context 4096 --temperature 0 --json"),
      {
        home,
        env: TELLING,
      },
    );
    await telling.shows(COMPILED);
    await wait(300);
    const { code, out } = await telling.interrupt(signal);
    expect(code).toBe(expected);
    stoppedAnswer.parse(JSON.parse(out));
  });

  it("ends a training after its step, and what there is is saved", async () => {
    const line = "train linear --steps 100000000 -o DIR/ended.safetensors --checkpoint DIR/half.safetensors";
    const running = startRlx(words(line), { home });
    await running.shows(/steps\/s/);
    const { code, out } = await running.interrupt();
    expect(code).toBe(INTERRUPTED);
    expect(out).toMatch(/It was stopped after [\d\s]+ steps\./);
    for (const name of ["ended.safetensors", "half.safetensors"]) expect(await left(name)).toEqual([name]);
  });

  it("ends a conversation whose input is still open", async () => {
    const running = startRlx(
      ["chat", long, "--threads", "1", "-n", "4000", "--context", "4096", "--temperature", "0"],
      {
        home,
        input: "the\nthing",
      },
    );
    await running.shows(/Prefill/);
    const { code, after } = await running.interrupt();
    expect(code).toBe(INTERRUPTED);
    await expectPrompt(after);
  });

  it("ends serve with its engine", async () => {
    const running = startRlx(["serve", "--json"], { home });
    await running.shows(/\}\n/);
    const { code, out, err, after } = await running.interrupt();
    expect({ code, err }).toEqual({ code: INTERRUPTED, err: "" });
    await expectPrompt(after);
    z.strictObject({ url: z.url(), port: number.positive(), token: z.string().min(32) }).parse(JSON.parse(out));
  });

  it("is not needed by services: serve ends well when it is asked to", async () => {
    const running = startRlx(["serve", "--json"], { home });
    await running.shows(/\}\n/);
    process.kill(running.pid(), "SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0, err: "" });
  });

  it("ends a command that waits for a pipe's writer", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    // A home that is no folder is told of before the pipe is opened.
    const line = ["chat", SAMPLE, "-m", "Hello", "--conversation", pipe];
    const running = startRlx(line, { home: join(folder, "text.txt") });
    await running.shows(/Nothing is cached/);
    await wait(500);
    const { code, signal, err } = await running.interrupt();
    expect({ code, signal }).toEqual({ code: INTERRUPTED, signal: null });
    expect(err).toMatch(/^Nothing is cached[^\n]*\nStopped\.\n$/);
  });

  it("is the only signal that twice ends at once: others come together as a terminal is closed", async () => {
    const writing = startRlx(words("compile SLOW -o DIR/closed.mlpackage"), { home });
    await writing.shows(/weights|%/);
    for (const signal of ["SIGHUP", "SIGTERM"] as const) process.kill(writing.pid(), signal);
    expect([129, 143]).toContain((await writing.interrupt("SIGHUP")).code);
    expect(await left("closed.mlpackage")).toEqual([]);
  });

  it("twice ends at once", async () => {
    const running = startRlx(words("compile SLOW -o DIR/twice.mlpackage"), { home });
    await running.shows(/Lowering/);
    process.kill(running.pid(), "SIGINT");
    const { code } = await running.interrupt();
    expect(code).toBe(INTERRUPTED);
  });
});

/** A command whose reader leaves one of its streams after the first piece. */
async function unread(parameters: readonly string[], left: "stdout" | "stderr") {
  const running = startRlx(parameters, { home });
  const stream = running.process[left];
  stream?.once("data", () => stream.destroy());
  return running.ended;
}

describe("a reader that leaves", () => {
  it.each(["graph --deep", "inspect FILE --key tokenizer.ggml.tokens", "graph FILE --json"])(
    "ends %s quietly",
    async (line) => expect(await unread(words(line), "stdout")).toMatchObject({ code: 0, err: "" }),
  );

  it("of the progress has the package tidied up, quietly", async () => {
    const ended = await unread(words("compile SLOW -o DIR/unread.mlpackage"), "stderr");
    expect(ended).toMatchObject({ code: 0, out: "" });
    expect(await left("unread.mlpackage")).toEqual([]);
  });

  it("of a run is not told how it went", async () => {
    const line = "run DIR/talk.gguf --threads 1 -p the -n 4000 --context 4096 --temperature 0 --stop qqq";
    const { code, err } = await unread(words(line), "stdout");
    expect(code).toBe(0);
    expect(err).not.toMatch(/tok\/s|Stopped/);
  });
});

it("compile removes what one that was killed has left", async () => {
  const killed = startRlx(words("compile SLOW -o DIR/killed.mlpackage"), { home });
  // The claim on the name, then the package.
  await expect.poll(() => left("killed.mlpackage"), { timeout: 20_000, interval: 10 }).toHaveLength(2);
  killed.process.kill("SIGKILL");
  await killed.ended;
  expect(await left("killed.mlpackage")).toHaveLength(2);
  expect(await command("compile FILE -o DIR/next.mlpackage")).toMatchObject({ code: 0 });
  expect(await left("killed.mlpackage")).toEqual([]);
});

describe.skipIf(!existsSync("/usr/bin/script"))("on a terminal (not without `script`)", () => {
  /** `script` gives the command a terminal; what is written to it is typed. */
  function terminal(line: string, columns = 80) {
    const run = `stty cols ${columns}; ${process.execPath} ${CLI_BUNDLE} ${line}`;
    const child = spawn("/usr/bin/script", ["-qefc", run, "/dev/null"], {
      env: { ...process.env, RLX_HOME: home, TERM: "xterm" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let screen = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (screen += piece));
    return {
      type: (typed: string) => child.stdin.write(typed),
      shows: (pattern: RegExp) => expect.poll(() => screen, { timeout: 20_000 }).toMatch(pattern),
      ended: new Promise<{ readonly code: number | null; readonly screen: string }>((resolve) =>
        child.once("close", (code) => resolve({ code, screen })),
      ),
    };
  }

  it.each([
    ["segments --demo", /once\s+fft\s+has\s+run\s+on\s+the\s+host\./],
    ["passes --sample", /what\s+is\s+left\s+without\s+one\s+is\s+named\./],
    ["route --demo --ops", /… fitted to this terminal/],
    ["inspect --sample --metadata", /… fitted to this terminal/],
  ])("fits the tables of %s, which a pipe gets whole", async (line, shown) => {
    const { code, screen } = await terminal(line, 72).ended;
    expect(code).toBe(0);
    expect(screen).toMatch(shown);
    const table = screen.split(/\r?\n/).slice(screen.split(/\r?\n/).findIndex((text) => text.includes("──")));
    expect(table.filter((text) => text.length > 72)).toEqual([]);
    const { out } = await command(line);
    expect(out).not.toContain("fitted to this terminal");
    expect(Math.max(...out.split("\n").map((text) => text.length))).toBeGreaterThan(100);
  });

  it("gives a rate for messages that were named, too", async () => {
    const { code, screen } = await terminal("chat --sample -m Hello --temperature 0").ended;
    expect(code).toBe(0);
    expect(screen).toMatch(/cpu: \d+ prompt tokens, .* written, at \S+ tok\/s/);
  });

  it("stops an answer at ^C and goes on; an empty line ends it", async () => {
    const { type, shows, ended } = terminal(`chat ${long} --threads 1 -n 4000 --context 4096 --temperature 0`);
    // More than the eleven listeners at which Node would warn of a leak.
    for (let turn = 1; turn <= 12; turn++) {
      await shows(new RegExp(`(> [^]*){${turn}}`));
      type("the\r");
      await shows(new RegExp(`(\\d prompt tokens[^]*){${turn - 1}}Prefill[^]*`));
      await wait(150);
      type("\x03");
      await shows(new RegExp(`(\\d prompt tokens[^]*){${turn}}`));
    }
    type("\r");
    expect(await ended).toEqual({ code: 0, screen: expect.not.stringContaining("MaxListeners") as string });
  });

  it("goes on after a ^C while the simulator is still being prepared", async () => {
    const { type, shows, ended } = terminal("chat --sample --device coreml-sim -n 2");
    await shows(/> /);
    type("the\r");
    await shows(/Preparing/);
    type("\x03");
    await shows(/> [^]*Preparing[^]*> /);
    type("\r");
    expect(await ended).toEqual({ code: 0, screen: expect.not.stringContaining("prompt tokens") as string });
  });
});
