/** The list of devices, and how one is asked for: by id where a person chose it, by capability everywhere else. */
import { invariant, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Capability, DeviceProvider } from "./provider.ts";

const ID = /^[a-z][a-z0-9-]{0,31}$/;

export interface DeviceRegistry<P> {
  /** Those that people can choose, the default one first. */
  readonly listed: readonly P[];
  /** What runs when nothing was chosen. */
  readonly first: P;
  /** The device of an id; `what` asks. */
  get(id: string, what: string): P;
  /** The same, which must be able to do this. */
  able(id: string, capability: Capability, what: string): P;
  /** The first that can, here or not. */
  readonly find: (capability: Capability) => P | undefined;
  /** What really runs where this device was chosen: itself, or what stands in for it now. */
  running(device: P): P;
}

type Listed = Pick<DeviceProvider, "id" | "hidden" | "capabilities" | "standIn">;

export function deviceRegistry<P extends Listed>(providers: readonly P[]): DeviceRegistry<P> {
  const byId = new Map<string, P>();
  for (const provider of providers) {
    invariant(ID.test(provider.id), `device id: got "${provider.id}", expected lower case letters, digits, hyphens`);
    invariant(!byId.has(provider.id), `device id: "${provider.id}" stands twice in the list`);
    byId.set(provider.id, provider);
  }
  const listed = providers.filter(({ hidden }) => hidden !== true);
  const [first] = listed;
  invariant(first, "a list of devices has one that can be chosen");
  const names = (of: readonly P[]): string => of.map(({ id }) => id).join(", ");
  const get = (id: string, what: string): P => {
    const found = listed.find((each) => each.id === id);
    if (found !== undefined) return found;
    throw new WorkbenchError("ENV_NO_DEVICE", `[${what}] device: got ${id}, expected one of ${names(listed)}`, {
      hint: `Choose ${names(listed)}.`,
    });
  };
  return {
    listed,
    first,
    get,
    able(id, capability, what) {
      const found = get(id, what);
      const can = found.capabilities[capability];
      if (can === true) return found;
      const others = listed.filter(({ capabilities }) => capabilities[capability] === true);
      throw new WorkbenchError("ENV_NO_DEVICE", `[${what}] device ${id}: ${can}`, {
        hint: others.length === 0 ? "No device of this version can." : `Choose ${names(others)}.`,
      });
    },
    find: (capability) => listed.find(({ capabilities }) => capabilities[capability] === true),
    running(device) {
      const id = device.standIn?.();
      return id === undefined ? device : (byId.get(id) ?? device);
    },
  };
}
