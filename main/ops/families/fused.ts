/** What ops share that only the fusions of one backend make: the others compile the graph before those. */
import { unsupported } from "../defineOp.ts";

const REASON = "the fusions of the CPU backend make it, and they run for the CPU only";

/** Entries of the other backends for an op of the CPU's own. */
export const ownOfCpu = { coreml: unsupported(REASON), mlx: unsupported(REASON) } as const;
