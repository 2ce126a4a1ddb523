/** `rlx report`: what is seen of a model as one page of HTML, or its head as Markdown for a bug tracker. */
import { BENCH_HISTORY, identityOf } from "../../contract/views/session.ts";
import { benchRecord } from "../../contract/views/bench.ts";
import type { ReportInput } from "../../contract/views/report.ts";
import type { Overview } from "../../contract/views/model.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { noteContext, openModel, targetOf, wholeNumber } from "./client.ts";
import { backendOf, phaseOf } from "./graph.ts";
import { writeNew } from "./newFile.ts";
import { bytesText } from "./output.ts";

interface ReportOptions extends CommonOptions {
  readonly backend?: string;
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly markdown?: boolean;
  readonly notes?: string;
  readonly benches: string;
  readonly paths?: boolean;
}

export async function report(command: Command, choice: ModelChoice, options: ReportOptions): Promise<undefined> {
  const { client, output, signal } = command;
  const phase = phaseOf(options);
  const backend = backendOf(options);
  const most = wholeNumber("benches", options.benches, 0, 20);
  const overview = await openModel(command, choice);
  const target = await targetOf(command, options);
  noteContext(command, overview.context.trained, options);
  output.progress("Predicting where it runs and how fast");
  const made = await client.call(
    "report.make",
    {
      ...{ model: overview.model, subject: { backend, target }, phase },
      benches: await benchesOf(command, overview, most),
      notes: options.notes ?? "",
      paths: options.paths === true,
    },
    { signal },
  );
  if (options.markdown === true) {
    output.value({ markdown: made.markdown });
    output.line(made.markdown);
    return undefined;
  }
  const path = await writeNew("report", options.output ?? made.name, made.html, options.overwrite === true);
  output.value({ path, bytes: Buffer.byteLength(made.html), markdown: made.markdown });
  output.line(`${bytesText(Buffer.byteLength(made.html))} in ${path}`);
  return undefined;
}

/** The newest of the history of this model. */
async function benchesOf(
  { client, signal }: Command,
  { title, file }: Overview,
  most: number,
): Promise<NonNullable<ReportInput["benches"]>> {
  if (most === 0) return [];
  const ask = { kind: BENCH_HISTORY, identity: identityOf(title, file), limit: most };
  const { entries } = await client.call("history.list", ask, { signal });
  return entries.flatMap(({ at, value }) => {
    const read = benchRecord.safeParse(value);
    return read.success
      ? [{ name: `Bench of ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`, record: read.data }]
      : [];
  });
}
