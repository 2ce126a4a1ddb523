/** `walk.cpp` as a process that answers when it is asked: the rate at which a model's file can be read and nothing else done. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Walk {
  /** Bytes per second: the better of the walk in pieces and the one without. */
  rate(): Promise<number>;
  /** Bytes per second of all threads for a fiftieth of a second, without pieces. */
  together(): Promise<number>;
  stop(): void;
}

/** Passes of one answer: about half a second. */
const PASSES = 16;

export function buildWalk(): string {
  const source = fileURLToPath(new URL("walk.cpp", import.meta.url));
  const program = join(mkdtempSync(join(tmpdir(), "rlx-walk-")), "walk");
  const compiler = process.env["CXX"] ?? "c++";
  const built = spawnSync(compiler, ["-O3", "-march=native", "-std=c++20", "-pthread", source, "-o", program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (built.status !== 0) throw new Error(`${compiler} could not build ${source}`);
  return program;
}

export function startWalk(program: string, path: string, threads: number, pieces: number): Walk {
  const child = spawn(program, [path, String(threads), String(pieces), String(PASSES)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (what: string): Promise<number[]> => {
    child.stdin.write(`${what}\n`);
    const answer = await answers.next();
    if (answer.done === true) throw new Error(`the walk through ${path} ended`);
    return answer.value.split(" ").map(Number);
  };
  return {
    rate: async () => Math.max(...(await ask("again"))),
    together: async () => Math.max(...(await ask("together"))),
    stop: () => child.stdin.end(),
  };
}
