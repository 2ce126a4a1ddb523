/**
 * Flags of the command lines that the window shows. renderer/session/command.test.ts checks that the
 * window shows no others, main/node/cli/commandHelp.native.test.ts that the command line takes them.
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
  "--precision",
  "--cache-type",
];

export const WINDOW_FLAGS: Readonly<Record<string, readonly string[]>> = {
  inspect: [],
  graph: ["--backend", "--stage", "--mil", "--plan", "--phase", ...TARGET],
  route: ["--backend", "--phase", ...TARGET],
  passes: ["--backend", "--phase", ...TARGET],
  chat: ["--message", "--system", "--tools", "--tool-choice", "--template-var", ...SAMPLING],
  /** A text, or the demo graph on a target. */
  run: ["--prompt", ...SAMPLING, ...MACHINE],
  bench: [
    ...[
      "--device",
      "--pp",
      "--tg",
      "--depth",
      "--threads",
      "--precision",
      "--cache-type",
      "--repeats",
      "--seconds",
      "--warmup",
    ],
    "--also",
  ],
  profile: ["--device", "--pp", "--tg"],
  compile: [...TARGET, "--output"],
  check: ["--against"],
  train: [
    ...["--data", "--steps", "--batch", "--optimizer", "--lr", "--precision", "--device", "--on-host", "--seed"],
    ...["--validate-every", "--sample-every", "--prompt", "--checkpoint", "--checkpoint-every", "--resume"],
    ...["--out", "--overwrite", "--field"],
  ],
  doctor: [],
};
