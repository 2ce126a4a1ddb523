/** Entries of ops that only the CPU's fusions make. Other backends compile the graph without these fusions. */
import { unsupported } from "../defineOp.ts";

const REASON = "the fusions of the CPU backend make it, and they run for the CPU only";

export const ownOfCpu = { coreml: unsupported(REASON), mlx: unsupported(REASON) } as const;
