/** `rlx imatrix`: gathers an importance matrix of a model over a text, for `rlx quantize --imatrix`. */
import { basename, resolve } from "node:path";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, unfinished, wholeNumber } from "./client.ts";
import { bytesText, figureText } from "./output.ts";
import { readText } from "./text.ts";

interface ImatrixOptions extends CommonOptions {
  readonly textFile: string;
  readonly output: string;
  readonly overwrite?: boolean;
  readonly chunk: string;
  readonly chunks?: string;
  readonly threads?: string;
}

export async function imatrix(command: Command, choice: ModelChoice, options: ImatrixOptions): Promise<number> {
  const { client, output, signal } = command;
  const text = await readText(options.textFile, command);
  const { model } = await openModel(command, choice);
  const input = {
    model,
    text,
    textName: basename(options.textFile),
    path: resolve(options.output),
    overwrite: options.overwrite === true,
    chunk: wholeNumber("chunk", options.chunk, 1, 65_536),
    ...(options.chunks === undefined ? {} : { chunks: wholeNumber("chunks", options.chunks, 1, 2 ** 31 - 1) }),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  };
  for await (const item of client.stream("quantize.importance", input, { signal })) {
    if (item.kind === "progress") {
      output.progress(`${item.done} of ${item.of} chunks`, "imatrix");
      continue;
    }
    output.value(item);
    output.line(item.sentence);
    output.line(`${item.path}: ${bytesText(item.bytes)} in ${figureText(item.seconds)}`);
    return 0;
  }
  throw unfinished(signal);
}
