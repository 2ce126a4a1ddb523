/**
 * The flags of the command lines that the window writes down. Two tests hold to this list: what the window writes is in it
 * (renderer/session/command.test.ts), and what is in it the command line takes (main/node/cli/commands.native.test.ts).
 */
const MACHINE = ["--chip", "--os", "--units", "--profile"];
const TARGET = [...MACHINE, "--context"];
const SAMPLING = [
  "--device",
  "--temperature",
  "--top-k",
  "--top-p",
  "--min-p",
  "--repeat-penalty",
  "--seed",
  "--stop",
  "--max-tokens",
  "--context",
];

export const WINDOW_FLAGS: Readonly<Record<string, readonly string[]>> = {
  inspect: [],
  graph: ["--backend", "--stage", "--mil", "--phase", ...TARGET],
  route: ["--phase", ...TARGET],
  passes: ["--backend", "--phase"],
  chat: ["--message", "--system", ...SAMPLING],
  /** A text, or the demo graph on a target. */
  run: ["--prompt", ...SAMPLING, ...MACHINE],
  bench: ["--device", "--pp", "--tg", "--repeats", "--warmup"],
  profile: ["--device", "--pp", "--tg"],
  compile: [...TARGET, "--output"],
  doctor: [],
};
