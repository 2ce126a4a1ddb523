/** `rlx train`: recipes, a run from a spec, and runs that are kept. Ctrl+C stops a run and saves what there is. */
import type { StreamItemOf } from "../../contract/contract.ts";
import type { TrainQuantized, TrainRow } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { unfinished } from "./client.ts";
import { READER_LEFT } from "./ending.ts";
import { bytesText, figureText, INTERRUPTED, phaseText } from "./output.ts";
import type { SpecOptions } from "./trainSpec.ts";
import { specOf } from "./trainSpec.ts";

interface TrainOptions extends CommonOptions, SpecOptions {
  readonly runs?: boolean;
}

type Item = StreamItemOf<"train.start">;

export async function train(command: Command, choice: ModelChoice, options: TrainOptions): Promise<number> {
  if (options.runs === true && choice.file !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx train] --runs: got ${choice.file} besides, expected nothing`, {
      hint: "Leave one out.",
    });
  if (options.runs === true) return listRuns(command);
  if (choice.file === undefined) return listRecipes(command);
  return runTraining(command, choice.file, options);
}

async function runTraining(command: Command, given: string, options: TrainOptions): Promise<number> {
  const { client, output, signal } = command;
  const spec = await specOf(given, options, command);
  const leave = new AbortController();
  let run: string | undefined;
  const stop = (): void => {
    // Nobody reads any more, or nothing has begun: there is nothing to save.
    if (run === undefined || signal.reason === READER_LEFT) return leave.abort();
    output.note("Stopping after this step.");
    client.call("train.stop", { run }).catch(() => leave.abort());
  };
  if (signal.aborted) leave.abort();
  signal.addEventListener("abort", stop, { once: true });
  const shown = new Shown(command);
  try {
    for await (const item of client.stream("train.start", spec, { signal: leave.signal })) {
      if (item.kind === "started") {
        ({ run } = item);
        if (signal.aborted) stop();
      }
      // Before the run begins there is an error or nothing: the one value of a command that failed.
      if (item.kind !== "phase") output.item(item);
      shown.take(item);
      if (item.kind !== "done") continue;
      if (item.state === "failed") return 1;
      return signal.aborted ? INTERRUPTED : 0;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
  throw unfinished(signal);
}

/** For people: one line that changes, and lines that stay for what happens beside the steps. */
class Shown {
  readonly #command: Command;
  #last = 0;

  constructor(command: Command) {
    this.#command = command;
  }

  take(item: Item): void {
    const { output } = this.#command;
    switch (item.kind) {
      case "phase":
        return output.progress(phaseText(item), item.name);
      case "started":
        this.#last = item.steps;
        output.line(`${item.title} on ${item.deviceTitle}: ${item.data}.`);
        output.line(
          `${item.trainedParameters} of ${item.parameters} parameters are trained, with ${item.settings.optimizer.name}; ${figureText(item.memory)}.`,
        );
        output.line(item.update.reason);
        return item.from === 0 ? undefined : output.line(`It goes on from step ${item.from}.`);
      case "steps":
        return output.progress(stepsText(item, this.#last), "steps");
      case "validation": {
        const share = item.accuracy === null ? "" : `, ${(100 * item.accuracy).toFixed(1)} % right`;
        return output.line(`step ${item.step}: validation loss ${item.loss.toPrecision(4)}${share}`);
      }
      case "quantized":
        return output.line(quantizedText(item.quantized));
      case "sample":
        return output.line(`step ${item.step}: ${JSON.stringify(item.prompt + item.text)}`);
      case "paused":
        return output.note("Paused.");
      case "resumed":
        return output.note("It goes on.");
      case "alarm":
        return output.note(
          `! step ${item.alarm.step}, ${item.alarm.place}: ${item.alarm.sentence} ${item.alarm.advice}`,
        );
      case "saved":
        return output.line(`${item.result.path}: ${bytesText(item.result.bytes)}. ${item.result.sentence}`);
      case "done":
        return output.line(doneText(item));
      case "norms":
        return;
    }
  }
}

/** "in 4 bits, activations in 8: validation loss 0.05 in floats, 98.5 % right; calibrated 0.9, 71 % right". */
function quantizedText({ weights, activations, ...measured }: TrainQuantized): string {
  const said = (name: string, one: TrainQuantized["floats"] | null): readonly string[] => {
    if (one === null) return [];
    const right = one.accuracy === null ? "" : `, ${(100 * one.accuracy).toFixed(1)} % right`;
    return [`${name} ${number(one.loss)}${right}`];
  };
  const { floats, calibrated, trained } = measured;
  const all = [...said("in floats", floats), ...said("calibrated", calibrated), ...said("trained on", trained)];
  return `step ${measured.step}: weights in ${weights} bits, activations in ${activations}: validation loss ${all.join("; ")}`;
}

const number = (value: number): string => (Number.isFinite(value) ? value.toPrecision(4) : "–");

function stepsText({ step, loss, rate, norm, stepsPerSecond }: Extract<Item, { kind: "steps" }>, of: number): string {
  const last = (column: Float64Array): number => column.at(-1) ?? NaN;
  return `step ${last(step)} of ${of}: loss ${number(last(loss))}, rate ${number(last(rate))}, gradient ${number(last(norm))}, ${stepsPerSecond.toFixed(1)} steps/s`;
}

function doneText({
  sentence,
  steps,
  seconds,
  stepsPerSecond,
  loss,
  validation,
}: Extract<Item, { kind: "done" }>): string {
  const losses = [
    ...(loss === null ? [] : [`loss ${number(loss)}`]),
    ...(validation === null ? [] : [`validation ${number(validation)}`]),
  ].join(", ");
  return `${sentence} ${steps} steps in ${seconds.toFixed(1)} s, ${stepsPerSecond.toFixed(1)} steps/s${losses === "" ? "" : `; ${losses}`}.`;
}

async function listRecipes({ client, output, signal }: Command): Promise<number> {
  const all = await client.call("train.recipes", {}, { signal });
  output.value(all);
  output.table(
    ["recipe", "what it does", "data"],
    all.recipes.map(({ id, about, dataSentence }) => [id, about, dataSentence ?? "none"]),
  );
  output.line();
  output.table(
    ["device", "trains", "how"],
    all.devices.map(({ id, available, reason, update }) => [
      id,
      available ? "yes" : "no",
      available ? update.reason : reason,
    ]),
  );
  output.line();
  output.line(`Optimisers: ${all.optimizers.map(({ name }) => name).join(", ")}.`);
  return 0;
}

async function listRuns({ client, output, signal }: Command): Promise<number> {
  const { runs, damaged } = await client.call("train.runs", {}, { signal });
  output.value({ runs, damaged });
  if (runs.length === 0) output.line("No run is kept.");
  else output.table(["run", "when", "what", "device", "state", "step", "loss", "validation"], runs.map(runRow));
  if (damaged > 0) output.note(`! ${damaged} records of runs cannot be read.`);
  return 0;
}

const runRow = ({ run, at, title, device, state, step, steps, loss, validation }: TrainRow): string[] => [
  run,
  new Date(at).toISOString().slice(0, 16).replace("T", " "),
  title,
  device,
  state,
  `${step} of ${steps}`,
  loss === null ? "" : number(loss),
  validation === null ? "" : number(validation),
];
