/** Collects garbage now, for tests that measure what is held. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** Memory of buffers is given back while the next collection goes on, so twice. */
export function collectGarbage(): void {
  gc();
  gc();
}
