/** What *Apply* does: a changed target, another runtime, other threads, or the way to another file. */
import type { Advice } from "../../main/contract/views/advice.ts";
import type { WorkbenchState } from "./store.ts";

export function applyAdvice(advice: Advice, state: WorkbenchState): void {
  const { change } = advice;
  switch (change.kind) {
    case "target":
    case "backend":
      state.applyAdvice(advice);
      break;
    case "threads":
      state.setBench({ threads: String(change.threads) });
      state.setTab("bench");
      break;
    case "quantize":
      state.setQuantizeChoice({ recipe: change.recipe });
      state.setTab("export");
      break;
  }
}
