/** The passes of each backend, in order: the shared ones, and then the backend's own. */
import { CPU_FUSIONS } from "../backends/cpu/fusions/index.ts";
import { fusionPass } from "../ir/fusion.ts";
import type { Pass } from "../ir/pass.ts";
import type { Backend } from "../ops/defineOp.ts";
import { opTable } from "../ops/index.ts";
import { GENERAL_PASSES } from "../passes/pipeline.ts";

const CPU_PASSES: readonly Pass[] = [...GENERAL_PASSES, ...CPU_FUSIONS.map((fusion) => fusionPass(opTable, fusion))];

export const pipelineFor = (backend: Backend): readonly Pass[] => (backend === "cpu" ? CPU_PASSES : GENERAL_PASSES);
