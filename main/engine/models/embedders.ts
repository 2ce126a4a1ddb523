/** Embedders of open models: one for each device and pooling, kept with the model; texts go through one at a time. */
import type { ReferenceNotice } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireEmbedder } from "../../models/architecture.ts";
import type { Pooling } from "../../models/family.ts";
import type { DevicePhase } from "../../runtime/devices/provider.ts";
import type { EmbedderModel } from "../../runtime/embedderModel.ts";
import { poolingOf } from "../../runtime/embedderModel.ts";
import type { EngineDevices } from "../devices.ts";
import { noticeOf } from "../devices.ts";
import type { OpenModel } from "./openModel.ts";
import { mappablePaths } from "./openModel.ts";

export interface EmbedderChoice {
  readonly device: string;
  readonly pooling: Pooling | null;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly onPhase?: (phase: DevicePhase) => void;
}

export interface OpenedEmbedder {
  readonly model: EmbedderModel;
  /** What to say when the TypeScript reference stands in; null when it does not. */
  readonly reference: ReferenceNotice | null;
}

export async function openEmbedderOf(
  devices: EngineDevices,
  model: OpenModel,
  choice: EmbedderChoice,
): Promise<OpenedEmbedder> {
  const file = model.requireFile("embed");
  requireEmbedder(file);
  const pooling = poolingOf(file, choice.pooling ?? undefined);
  const chosen = devices.able(choice.device, "tokens", "embed");
  const device = devices.running(chosen);
  const { threads, signal, onPhase = () => undefined } = choice;
  const paths = await mappablePaths(model, "embed", signal, onPhase);
  const made = await model.cachedLater(`embedder ${device.id} ${pooling} ${threads}`, async () => {
    if (device.openEmbedder === undefined)
      throw new WorkbenchError("ENV_NO_DEVICE", `[embed] device ${device.id}: it makes no vectors of texts`, {
        hint: "Choose cpu.",
      });
    const opened = await device.openEmbedder({ source: model, file, paths, pooling, threads, signal, onPhase });
    model.onDispose(() => opened.dispose());
    model.hold(`embedder ${device.id} ${pooling} ${threads}`, file.byteLength);
    return opened;
  });
  return { model: made, reference: device === chosen ? null : noticeOf(device, model.description.parameters) };
}
