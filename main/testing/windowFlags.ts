/**
 * Flags of the command lines that the window shows. renderer/session/command.test.ts checks that the
 * window shows no others, main/node/cli/commands.native.test.ts that the command line takes them.
 */
import { samplingFlag, SAMPLING_NUMBERS } from "../contract/views/run.ts";

const MACHINE = ["--chip", "--os", "--units", "--profile"];
const TARGET = [...MACHINE, "--context"];
const SAMPLING = [
  "--device",
  ...SAMPLING_NUMBERS.map((name) => `--${samplingFlag(name)}`),
  "--logit-bias",
  "--grammar",
  "--json-schema",
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
  chat: ["--message", "--system", "--tools", "--template-var", ...SAMPLING],
  /** A text, or the demo graph on a target. */
  run: ["--prompt", ...SAMPLING, ...MACHINE],
  bench: ["--device", "--pp", "--tg", "--repeats", "--warmup"],
  profile: ["--device", "--pp", "--tg"],
  compile: [...TARGET, "--output"],
  doctor: [],
};
