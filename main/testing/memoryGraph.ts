/** y = w x + b with w and b in memory, beside a variable that counts. */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { GraphSession } from "../ir/session.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";

export function memoryGraph(start = 10): Graph {
  const builder = new GraphBuilder(opTable, "memory");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [1, 3]));
  const w = builder.param("w", tensor("f32", [2, 3]), { memory: true });
  const initial = { kind: "constant", value: 0.5 } as const;
  const b = builder.param("b", tensor("f32", [2]), { memory: true, initial });
  builder.output("y", g.linear([x, w, b]));
  const count = builder.variable("v", tensor("f32", [1]), { kind: "constant", value: start });
  const next = g.add([count, builder.constant(hostScalar("f32", 1))]);
  builder.setState("v", next);
  builder.output("v_next", next);
  return builder.finish();
}

/** One output of a run over three numbers. */
export async function yOf(session: GraphSession, x: readonly number[], output = "y"): Promise<readonly number[]> {
  const { outputs } = await session.run({ inputs: { x: Float32Array.from(x) }, fetch: [output] });
  const bytes = outputs[output]?.bytes ?? new Uint8Array(0);
  return [...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)];
}
