// How long a question waits for the engine while it makes a graph, a route and advice: every turn of its loop is timed by the time
// of the process, so that programs beside it count little. Prints JSON, milliseconds: of each stage its time, the turn in which the
// 95th percent of that time lies, and the longest turn. A question that comes in between waits for the rest of a turn.
//   npx tsx bench/waits.ts [--ops 10000,32000]
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROUTED, routedStage } from "../main/contract/views/graph.ts";
import { engineHarness } from "../main/testing/engineHarness.ts";
import { OPS_PER_BLOCK, writeDeepFile } from "./support/deepFile.ts";

const { values: options } = parseArgs({ options: { ops: { type: "string", default: "10000,32000" } } });

function processTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Turns of the loop, from one look to the next. */
class Turns {
  #times: number[] = [];
  #last = processTime();
  #runs = true;

  constructor() {
    const turn = (): void => {
      const now = processTime();
      this.#times.push(now - this.#last);
      this.#last = now;
      if (this.#runs) setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** Since the last asking. */
  taken(): { readonly all: number; readonly p95: number; readonly longest: number } {
    const times = this.#times.sort((a, b) => a - b);
    this.#times = [];
    const all = times.reduce((sum, time) => sum + time, 0);
    let [before, p95] = [0, 0];
    for (const time of times) {
      p95 = time;
      before += time;
      if (before > 0.95 * all) break;
    }
    return { all: Math.round(all), p95: Math.round(p95), longest: Math.round(times.at(-1) ?? 0) };
  }

  end(): void {
    this.#runs = false;
  }
}

async function measure(ops: number): Promise<Readonly<Record<string, unknown>>> {
  const harness = await engineHarness();
  const { client, folder } = harness;
  const path = join(folder, "deep.gguf");
  writeDeepFile(path, Math.round(ops / OPS_PER_BLOCK));
  const { initial: target } = await client.call("targets.list", {});
  const turns = new Turns();
  const { model } = await client.call("model.open", { source: { kind: "path", path } });
  const open = turns.taken();
  const phase = "decode";
  await client.call("graph.get", { model, stage: routedStage(ROUTED.backend, target), phase });
  const graph = turns.taken();
  await client.call("route.get", { model, backend: ROUTED.backend, target, phase });
  const route = turns.taken();
  await client.call("advice.list", { model, backend: ROUTED.backend, target, phase });
  const advice = turns.taken();
  turns.end();
  await harness.done();
  return { ops, open, graph, route, advice };
}

const results: unknown[] = [];
for (const ops of options.ops.split(",")) results.push(await measure(Number(ops)));
console.log(JSON.stringify(results, undefined, 2));
