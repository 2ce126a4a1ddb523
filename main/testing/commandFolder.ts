/** A folder of files for tests of the built command line, and commands as people write them. */
import { mkdtempSync } from "node:fs";
import { rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { Ended } from "./rlxProcess.ts";
import { rlx } from "./rlx.ts";
import { requireCommandLine } from "./rlxProcess.ts";
import { writeTinyGguf } from "./tinyGguf.ts";
import { writeTinyMixture } from "./tinyMixture.ts";

export const SAMPLE = "assets/models/rlx-sample.gguf";

/** Numbers that JSON does not have. */
const ODD = `graph "odd" {
  %x = input : f32[2]
  %square = mul(%x, %x)
  %log = log(%x)
  %sign = neg(%square)
  return "square" = %square
  return "log" = %log
  return "minus" = %sign
}
`;
/** A function with a rule of its own: the gradient goes straight through its rounding. */
const OWN = `graph "own" {
  %x = input : f32[3]
  %y = custom_fn(%x)
    graph "forward" {
      %a = input : f32[3]
      %b = round(%a)
      return "y" = %b
    }
    graph "vjp" {
      %a = input : f32[3]
      %b = input : f32[3]
      %ct = input : f32[3]
      return "a" = %ct
    }
    graph "jvp" {
    }
    graph "vmap" {
    }
  %s = reduce(%y) {kind: "sum", axes: [0]}
  return "sum" = %s
}
`;
/** A line fitted to points, in its one layout. */
const FIT = `graph "fit" {
  %x = input : f32[N,3]
  %y = input : f32[N,1]
  %w = param {memory: true, initial: "constant", value: 0.5} : f32[1,3]
  %p = linear(%x, %w)
  %d = sub(%p, %y)
  %s = mul(%d, %d)
  %loss = reduce(%s) {kind: "sum", axes: [0, 1]}
  return "loss" = %loss
}
`;

export interface CommandFolder {
  readonly folder: string;
  readonly home: string;
  /** A model with so many blocks that every interrupted command would have gone on for long. */
  readonly slow: string;
  /** FILE is the sample, SLOW the slow model, DIR this folder. Quotes hold words together. */
  readonly words: (line: string) => string[];
  readonly command: (line: string) => Promise<Ended>;
}

export function commandFolder(): CommandFolder {
  const folder = mkdtempSync(join(tmpdir(), "rlx-cli-"));
  const home = join(folder, "home");
  const slow = join(folder, "slow.gguf");
  const at = (name: string): string => join(folder, name);
  beforeAll(async () => {
    requireCommandLine();
    await writeTinyGguf(slow, { layers: 96 });
    await writeTinyMixture(at("mixture.gguf"));
    await writeFile(at("fit.rlx"), FIT);
    await writeFile(at("own.rlx"), OWN);
    await writeFile(at("odd.rlx"), ODD);
    await writeFile(at("wrong.rlx"), FIT.replace("mul(", "mull(").replace("kind:", "knd:"));
    await writeFile(at("text.txt"), "Once upon a time there was a cat.");
    await writeFile(at("latin.txt"), Buffer.from("caf\u00e9s", "latin1"));
    await writeFile(at("toolong.txt"), "the ".repeat(1500));
    await writeFile(at("long.txt"), "the ".repeat(1300));
    await writeFile(at("huge.txt"), "");
    await truncate(at("huge.txt"), 300e6);
    await writeFile(at("not.gguf"), "this is not a model");
    await writeFile(at("taken.mlpackage"), "another file");
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const places = { FILE: SAMPLE, SLOW: slow, DIR: folder };
  const words = (line: string): string[] =>
    (line.match(/"[^"]*"|\S+/g) ?? []).map((word) =>
      Object.entries(places).reduce((text, [name, path]) => text.replace(name, path), word.replace(/^"|"$/g, "")),
    );
  return { folder, home, slow, words, command: (line) => rlx(words(line), { home }) };
}

/** Every command, in the order of the help. */
export const COMMAND_NAMES = [
  "inspect",
  "tensors",
  "check",
  "graph",
  "passes",
  "bisect",
  "route",
  "assert-residency",
  "segments",
  "advise",
  "diff",
  "report",
  "compile",
  "convert",
  "quantize",
  "imatrix",
  "fmt",
  "eval",
  "grad",
  "vmap",
  "new",
  "ops",
  "train",
  "run",
  "chat",
  "template",
  "score",
  "choose",
  "embed",
  "rerank",
  "experts",
  "tokenize",
  "bench",
  "profile",
  "compiles",
  "doctor",
  "session",
  "models",
  "settings",
  "serve",
] as const;
