/** The ops of the language: the table that everything else is made of, and samples as graphs. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { OpFacts } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { printWhole } from "../../ir/text/print.ts";
import type { AnyOp } from "../../ops/defineOp.ts";
import { arityText, attributesOf, supportOf } from "../../ops/facts.ts";
import { opOf, OPS } from "../../ops/index.ts";
import { sampleGraph } from "../../ops/sampleData.ts";

export const opsHandlers = (): Pick<EngineHandlers["calls"], "ops.list" | "ops.sample"> => ({
  "ops.list": () => ({
    ops: Object.keys(OPS)
      .flatMap((name) => opOf(name) ?? [])
      .map(factsOf),
  }),
  "ops.sample": ({ op: name, sample: index }) => {
    const op = opOf(name);
    if (op === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[ops] op: got ${name}, expected one of the table`, {
        hint: "rlx ops lists them.",
      });
    const sample = op.samples[index];
    if (sample !== undefined) return { text: printWhole(sampleGraph(op, sample)) };
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[ops] sample of ${name}: got ${index}, expected 0 to ${op.samples.length - 1}`,
      { hint: "rlx ops with the operation's name lists its samples." },
    );
  },
});

const factsOf = (op: AnyOp): OpFacts => ({
  name: op.name,
  summary: op.summary,
  arity: arityText(op),
  operands: [...op.operands],
  results: [...op.results],
  attributes: [...attributesOf(op)],
  traits: [...op.traits],
  support: supportOf(op).map(({ of, how, reason = null }) => ({ of, how, reason })),
  oracle: "numpy" in op.oracle ? { by: "numpy", python: op.oracle.numpy } : { by: "jax", python: op.oracle.jax },
  samples: op.samples.map(({ title }) => title),
});
