/**
 * Decoders of open models: compiled once per model (or taken from the plans on disk), one session per context length, used by
 * one job at a time. A finished conversation stays in its session's cache, so that the next question only feeds what is new.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { DecoderModel } from "../../runtime/decoderModel.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { PlanCache } from "../../node/cache/planCache.ts";
import { openCachedDecoder } from "../../node/cache/planCache.ts";
import type { ReferenceNotice } from "../../contract/views/common.ts";
import type { CpuAccess } from "../devices.ts";
import type { MlxAccess } from "../mlxAccess.ts";
import type { OpenModel } from "./openModel.ts";
import { pathsOf } from "./openModel.ts";
import { openReference, referenceNotice } from "./reference.ts";

export interface DecoderChoice {
  /** The CPU engine without it. */
  readonly device?: "cpu" | "mlx";
  readonly context?: number | null;
  readonly threads?: number | null;
  readonly cacheType?: "f16" | "f32";
  readonly chunk?: number;
  /** The TypeScript reference may stand in where no native engine was built: not for those who measure. */
  readonly reference?: boolean;
}

export interface Lease {
  readonly decoder: DecoderModel;
  readonly session: DecoderSession;
  /** Element type of keys and values. */
  readonly cacheType: "f16" | "f32";
  /** What to say when the TypeScript reference stands in; null when it does not. */
  readonly reference: ReferenceNotice | null;
  /** Gives the session back; another job may use it. */
  release(): void;
}

export interface Decoders {
  lease(model: OpenModel, choice: DecoderChoice): Promise<Lease>;
}

interface Held {
  readonly session: DecoderSession;
  busy: boolean;
}

export interface DecoderParts {
  readonly cpu: CpuAccess;
  readonly mlx: MlxAccess;
  readonly prepare: (graph: Graph) => Graph;
  /** Where plans are kept; absent when they are not. */
  readonly plans: PlanCache | undefined;
  readonly defaultThreads: number;
  readonly defaultContext: number;
}

export function createDecoders(parts: DecoderParts): Decoders {
  // MLX's attention wants one element type: a cache of another would be widened in every step.
  const cacheTypeOf = (choice: DecoderChoice): "f16" | "f32" =>
    choice.cacheType ?? (choice.device === "mlx" ? "f32" : "f16");
  const onReference = (choice: DecoderChoice): boolean =>
    choice.reference === true && choice.device !== "mlx" && parts.cpu.absent();
  const keyOf = (choice: DecoderChoice): string =>
    `${onReference(choice) ? "reference" : (choice.device ?? "cpu")} ${cacheTypeOf(choice)} ${choice.chunk ?? 0}`;

  const decoderOf = (model: OpenModel, threads: number, choice: DecoderChoice): Promise<DecoderModel> =>
    model.cachedLater(`decoder ${keyOf(choice)}`, async () => {
      const paths = pathsOf(model);
      if (!paths)
        throw new WorkbenchError("INPUT_ARGUMENT", "[run] the weights of this model are not here", {
          hint: "Open a file with weights, or name its folder.",
        });
      const plan = {
        cacheType: cacheTypeOf(choice),
        ...(choice.chunk === undefined ? {} : { chunk: choice.chunk }),
      };
      if (onReference(choice)) {
        const decoder = await openReference(model.requireFile("run"), plan);
        model.onDispose(() => decoder.dispose());
        return decoder;
      }
      if (choice.device === "mlx") {
        const decoder = parts.mlx.open(model.requireFile("run"), paths, plan);
        model.onDispose(() => decoder.dispose());
        return decoder;
      }
      const options = { ...plan, threads, prepare: parts.prepare };
      const { decoder } = await openCachedDecoder(
        parts.cpu.engine(),
        model.requireFile("run"),
        paths,
        options,
        parts.plans,
      );
      model.onDispose(() => decoder.dispose());
      return decoder;
    });

  return {
    async lease(model, choice) {
      const threads = choice.threads ?? parts.defaultThreads;
      const decoder = await decoderOf(model, threads, choice);
      const context = Math.min(choice.context ?? parts.defaultContext, decoder.architecture.context);
      const held = model.cached(`session ${keyOf(choice)} ${threads} ${context}`, (): Held => {
        const session = decoder.open({ context, threads });
        model.onDispose(() => session.dispose());
        return { session, busy: false };
      });
      if (held.busy)
        throw new WorkbenchError("HANDLE_BUSY", "[run] this model is answering already", {
          hint: "Stop the answer, or wait for its end.",
        });
      held.busy = true;
      return {
        decoder,
        session: held.session,
        cacheType: cacheTypeOf(choice),
        reference: onReference(choice) ? referenceNotice(model.description.parameters) : null,
        release: () => {
          held.busy = false;
        },
      };
    },
  };
}
