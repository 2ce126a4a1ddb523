/**
 * The models of a server: opened when a request names one, kept while memory allows, and the one that was used longest ago
 * closed where it does not. A model that answers stays open.
 */
import type { EngineClient } from "../../contract/contract.ts";
import type { ServerModel } from "../../contract/views/server.ts";
import { ApiError } from "./apiErrors.ts";
import type { OfferedModel } from "./modelPaths.ts";

export interface TakenModel {
  readonly id: string;
  /** Its handle in the engine. */
  readonly handle: string;
  /** What its chat template means for a request with tools: a sentence where it leaves them out. Never throws. */
  toolNote(): Promise<string | null>;
  release(): void;
}

export interface Shelf {
  readonly offered: readonly OfferedModel[];
  list(): readonly ServerModel[];
  /** What a request means by this name: without one, the only model that there is. */
  named(name: string | undefined): OfferedModel;
  take(model: OfferedModel): Promise<TakenModel>;
  /** The engine was lost, and all handles with it. */
  forget(): void;
  /** Closes what is open. */
  close(): Promise<void>;
}

interface Slot {
  readonly model: OfferedModel;
  readonly handle: Promise<string>;
  toolNote?: Promise<string | null>;
  isOpen: boolean;
  users: number;
  used: number;
}

export interface ShelfOptions {
  readonly client: EngineClient;
  readonly offered: readonly OfferedModel[];
  /** Bytes that the files of open models may take together; null: `MEMORY_SHARE` of the machine's. */
  readonly memoryBytes: number | null;
  readonly onChange: () => void;
}

const MEMORY_SHARE = 0.75;

export function createShelf({ client, offered, memoryBytes, onChange }: ShelfOptions): Shelf {
  const slots = new Map<string, Slot>();
  let clock = 0;

  const close = async (slot: Slot): Promise<void> => {
    if (slots.get(slot.model.id) === slot) slots.delete(slot.model.id);
    const handle = await slot.handle.catch(() => undefined);
    // Lost with its engine, or closed with the connection.
    if (handle !== undefined) await client.call("model.close", { model: handle }).catch(() => undefined);
    onChange();
  };

  /** Closes idle models, the longest unused first, until this one fits. */
  const makeRoom = async (wanted: OfferedModel): Promise<void> => {
    const most = memoryBytes ?? MEMORY_SHARE * (await client.call("engine.status", {})).totalBytes;
    const others = (): readonly Slot[] => [...slots.values()].filter(({ model }) => model !== wanted);
    const taken = (): number => others().reduce((sum, { model }) => sum + model.bytes, 0);
    const idle = (): Slot | undefined =>
      others()
        .filter(({ users }) => users === 0)
        .toSorted((a, b) => a.used - b.used)[0];
    for (let slot = idle(); slot !== undefined && taken() + wanted.bytes > most; slot = idle()) await close(slot);
  };

  const open = (model: OfferedModel): Slot => {
    const opening = async (): Promise<string> => {
      await makeRoom(model);
      const { model: handle } = await client.call("model.open", { source: { kind: "path", path: model.path } });
      return handle;
    };
    const slot: Slot = { model, handle: opening(), isOpen: false, users: 0, used: 0 };
    slot.handle.then(
      () => {
        slot.isOpen = true;
        onChange();
      },
      () => {
        if (slots.get(model.id) === slot) slots.delete(model.id);
        onChange();
      },
    );
    return slot;
  };

  const toolNote = async (handle: string): Promise<string | null> => {
    const conversation = { kind: "sample", id: "tools" } as const;
    const { abilities } = await client.call("template.inspect", { model: handle, conversation });
    const tools = abilities.find(({ id }) => id === "tools");
    return tools?.state === "left-out" ? tools.sentence : null;
  };

  return {
    offered,
    list: () =>
      offered.map(({ id, path, bytes }) => {
        const slot = slots.get(id);
        return { id, path, bytes, state: slot === undefined ? "known" : slot.isOpen ? "open" : "opening" };
      }),
    named(name) {
      const [only] = offered;
      if (name === undefined && offered.length === 1 && only !== undefined) return only;
      const found = offered.find(({ id }) => id === name);
      if (found !== undefined) return found;
      const some = offered.slice(0, 20).map(({ id }) => id);
      const all = `${some.join(", ")}${offered.length > some.length ? " …" : ""}`;
      if (name === undefined)
        throw new ApiError(400, `model: got none, expected one of ${all}`, {
          param: "model",
          code: "missing_required_parameter",
        });
      throw new ApiError(404, `model: got ${JSON.stringify(name.slice(0, 200))}, expected one of ${all}`, {
        param: "model",
        code: "model_not_found",
      });
    },
    async take(model) {
      const slot = slots.get(model.id) ?? open(model);
      slots.set(model.id, slot);
      slot.users += 1;
      slot.used = ++clock;
      let isHeld = true;
      const release = (): void => {
        if (isHeld) slot.users -= 1;
        isHeld = false;
      };
      try {
        const handle = await slot.handle;
        return {
          ...{ id: model.id, handle, release },
          // A model without a template says so itself.
          toolNote: () => (slot.toolNote ??= toolNote(handle).catch(() => null)),
        };
      } catch (error) {
        release();
        throw error;
      }
    },
    forget() {
      slots.clear();
      onChange();
    },
    async close() {
      await Promise.all([...slots.values()].map(close));
    },
  };
}
