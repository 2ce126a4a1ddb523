/** `rlx ops`: the operations of the language, what each is and what runs it. */
import type { OpFacts } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions } from "./client.ts";
import { wholeNumber } from "./client.ts";

export interface OpsOptions extends CommonOptions {
  readonly graph?: string;
}

export async function ops(command: Command, query: string | undefined, options: OpsOptions): Promise<number> {
  const { client, output, signal } = command;
  if (options.graph !== undefined) return sampleText(command, query, options.graph);
  const all = (await client.call("ops.list", {}, { signal })).ops;
  const found = matching(all, query ?? "");
  const [only, ...others] = found;
  if (only === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx ops] got ${JSON.stringify(query)}, expected the name of an operation, or words of its meaning`,
    );
  output.value({ ops: found });
  if (others.length === 0) describe(command, only);
  else list(command, found, all.length);
  return 0;
}

/** One of this name; else those that have the words in their name or meaning. */
function matching(all: readonly OpFacts[], query: string): readonly OpFacts[] {
  const named = all.filter(({ name }) => name === query);
  if (named.length > 0) return named;
  const words = query.toLowerCase().split(/\s+/u);
  return all.filter(({ name, summary }) => words.every((word) => `${name} ${summary}`.toLowerCase().includes(word)));
}

function list({ output }: Command, found: readonly OpFacts[], all: number): void {
  const heads = found[0]?.support.map(({ of }) => of) ?? [];
  output.table(
    ["op", ...heads, "meaning"],
    found.map(({ name, support, summary }) => [name, ...support.map(({ how }) => how), summary]),
    { yields: heads.length + 1 },
  );
  output.line();
  output.line(found.length === all ? counted(all, "operation") : `${found.length} of ${counted(all, "operation")}`);
}

function describe({ output }: Command, op: OpFacts): void {
  const results = op.results.length === 0 ? [] : [["results", op.results.join(", ")]];
  output.table(
    [op.name, op.summary],
    [
      ["operands", op.operands.length === 0 ? op.arity : `${op.arity}: ${op.operands.join(", ")}`],
      ...results,
      ...op.attributes.map(({ name, expects }) => [`{${name}}`, expects]),
      ...(op.traits.length === 0 ? [] : [["traits", op.traits.join(", ")]]),
      ...op.support.map(({ of, how, reason }) => [of, reason === null ? how : `${how}: ${reason}`]),
      [`by ${op.oracle.by}`, op.oracle.python],
    ],
    { yields: 1 },
  );
  output.line();
  output.table(
    ["sample", "what; its graph by --graph"],
    op.samples.map((title, i) => [String(i), title]),
    { right: [0] },
  );
}

async function sampleText({ client, output, signal }: Command, op: string | undefined, index: string): Promise<number> {
  if (op === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx ops] --graph: got no operation, expected its name");
  const sample = wholeNumber("graph", index, 0, 10_000);
  const made = await client.call("ops.sample", { op, sample }, { signal });
  output.value(made);
  output.write(made.text);
  return 0;
}
