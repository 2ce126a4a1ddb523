/** What no request could mend is told where the server starts: a device that is not here, or keys and values that it cannot keep. */
import type { EngineClient } from "../../contract/contract.ts";
import type { ServerInput } from "../../contract/views/server.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";

type Wanted = Pick<ServerInput, "device" | "cacheType">;

/** Types that every device keeps. */
const PLAIN_TYPES: readonly string[] = ["f16", "f32"];

export async function checkDevice(client: EngineClient, { device: id, cacheType }: Wanted): Promise<void> {
  const { devices } = await client.call("engine.info", {});
  const able = devices.filter(({ capabilities }) => capabilities.tokens === true);
  const found = able.find((each) => each.id === id);
  const others = able.filter((each) => each.available && each.id !== id);
  if (found === undefined) {
    const why = devices.find((each) => each.id === id)?.capabilities.tokens;
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[server] device: got ${id}, expected one of ${able.map((each) => each.id).join(", ")}`,
      typeof why === "string" ? { hint: why } : {},
    );
  }
  const types = found.cacheTypes ?? PLAIN_TYPES;
  if (cacheType !== null && !types.includes(cacheType)) {
    const keeping = others.filter(({ cacheTypes = [] }) => cacheTypes.includes(cacheType));
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[server] type of keys and values: got ${cacheType} on ${found.title}, expected ${types.join(" or ")}`,
      { hint: `Choose another type${keeping.map((each) => `, or ${each.id}`).join("")}.` },
    );
  }
  if (!found.available)
    throw new WorkbenchError("ENV_NO_DEVICE", `[server] device ${id}: ${found.sentence}`, {
      ...(others.length === 0 ? {} : { hint: `Choose ${others.map((each) => each.id).join(" or ")}.` }),
    });
}
