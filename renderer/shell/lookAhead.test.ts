/** Targets that are one choice away are asked for ahead: the choice shows at once, and ends what was still being asked. */
import { describe, expect, it } from "vitest";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import { until } from "../../main/testing/until.ts";
import { nearTargets } from "../session/routes.ts";
import { current } from "../session/async.ts";
import { answerTo, pause } from "../engine/recorded/replay.ts";
import { openSample } from "../testing/openStore.ts";

async function opened(delay: (asked: number) => number) {
  const asked: TargetSpec[] = [];
  const { get } = await openSample({
    calls: {
      "route.get": async ({ model, target, phase }, { signal }) => {
        asked.push(target);
        await pause(delay(asked.length));
        signal.throwIfAborted();
        return answerTo("route.get", { model, target, phase });
      },
    },
  });
  await until(() => get().routes.decode.kind === "ready" && get().targets.kind === "ready");
  const { target } = get();
  if (target === null) throw new Error("an open model has a target");
  return { get, asked, target };
}

describe("looking ahead", () => {
  it("has another chip's route before it is chosen", async () => {
    const { get, asked, target } = await opened(() => 0);
    const near = nearTargets(target, current(get().targets));
    expect(near.length).toBeGreaterThan(2);
    await until(() => asked.length === 2 + near.length);
    const [next] = near;
    if (next === undefined) throw new Error("there is another chip");
    get().setTarget(next);
    expect(get().routes.decode).toMatchObject({ kind: "ready", value: { target: { chip: next.chip } } });
  });

  it("is ended by a choice, and what it was asking for is not shown", async () => {
    const { get, asked, target } = await opened((n) => (n > 2 ? 60 : 0));
    await until(() => asked.length === 3);
    const last = nearTargets(target, current(get().targets)).at(-1);
    if (last === undefined) throw new Error("there is another chip");
    get().setTarget(last);
    await until(() => get().routes.decode.kind === "ready");
    expect(current(get().routes.decode)?.target.chip).toBe(last.chip);
    expect(asked[3]).toEqual(last);
  });

  it("asks for no weights that would have to be lowered first", async () => {
    const { get, target } = await opened(() => 0);
    const targets = current(get().targets);
    const units = (profile: TargetSpec["profile"]) =>
      new Set(nearTargets({ ...target, profile }, targets).map((near) => near.units));
    expect([...units("auto")]).toEqual([target.units]);
    expect(units("ane").size).toBe(4);
  });
});
