/** Recordings in the window's store: kept, shown, compared, opened from files, found again in the session. */
import { describe, expect, it } from "vitest";
import { recordingText } from "../../../main/contract/recordings/recordingFile.ts";
import { madeRecording } from "../../../main/testing/recordings.ts";
import { disagreements } from "../../../main/testing/agreement.ts";
import { current } from "../../session/async.ts";
import { openSample } from "../../testing/openStore.ts";
import { profilePart } from "./part.ts";

const fileOf = (text: string, name = "other.rlxtrace"): File => new File([text], name);

describe("recordings", () => {
  it("of the engine agree with themselves, are kept, and the last is the one that is shown", async () => {
    const { get } = await openSample();
    await get().startProfile();
    const first = current(get().profile)!;
    expect(disagreements(first)).toEqual([]);
    expect(first.threads.count).toBeGreaterThan(0);
    expect(first.memory.time.length).toBe(first.steps.start.length + 1);
    expect(first.absent.map(({ what }) => what)).toEqual(["GPU", "Neural Engine"]);
    await get().startProfile();
    const [newest, older] = get().recordings;
    expect(newest!.profile).toBe(current(get().profile));
    get().compareRecording(older!.id);
    expect(get().profileSecond).toBe(older!.profile);
    // A recording is not compared with itself.
    get().showRecording(older!.id);
    expect(get().profileSecond).toBeNull();
    expect(current(get().profile)).toBe(older!.profile);
    get().removeRecording(older!.id);
    expect(current(get().profile)).toBe(newest!.profile);
    get().removeRecording(newest!.id);
    expect(get().profile.kind).toBe("idle");
    expect(get().profiled).toBeNull();
  });

  it("from a file stand beside the one that is shown; those of another model colour no graph", async () => {
    const { get } = await openSample();
    const made = madeRecording({ seed: 9 });
    await get().openRecording(fileOf(recordingText(made)));
    expect(current(get().profile)).toEqual(made);
    expect(get().profileForeign).toBe(true);
    expect(get().profiled).toBeNull();
    await get().startProfile();
    expect(get().profileForeign).toBe(false);
    expect(get().profiled).toBe(current(get().profile));
    await get().openRecording(fileOf(recordingText(madeRecording({ seed: 10 }))));
    expect(get().profiled).toBe(current(get().profile));
    expect(get().profileSecond).toEqual(madeRecording({ seed: 10 }));
    expect(get().recordings).toHaveLength(3);
  });

  it("that are none are refused in words, and nothing changes", async () => {
    const { get } = await openSample();
    await get().openRecording(fileOf("{}", "package.json"));
    expect(get().profile.kind).toBe("idle");
    expect(get().notices.at(-1)).toMatchObject({ title: "The recording could not be read" });
  });

  it("come back with the session, and an area stays selected until another step of it is recorded", async () => {
    const { get } = await openSample();
    await get().startProfile();
    await get().startProfile();
    get().selectArea({ from: 0, to: 1, first: 0, last: 2 });
    const saved = JSON.parse(JSON.stringify(profilePart.save(get()))) as unknown;
    const kept = get().recordings.map(({ profile }) => profile);
    await get().startProfile();
    expect(get().profileSelection).toBeNull();
    const fresh: Record<string, unknown> = {};
    const tools = {
      set: (part: object) => void Object.assign(fresh, part),
      get: () => fresh,
      emit: () => undefined,
    } as unknown as Parameters<typeof profilePart.restore>[1];
    expect(await profilePart.restore(saved, tools)).toBe(true);
    expect((fresh["recordings"] as { profile: unknown }[]).map(({ profile }) => profile)).toEqual(kept);
    expect(await profilePart.restore({ settings: {} }, tools)).toBe(false);
    // What an earlier version kept is left out, not a fault.
    const { settings } = saved as { settings: object };
    expect(await profilePart.restore({ settings, recording: "{}" }, tools)).toBe(true);
  });
});
