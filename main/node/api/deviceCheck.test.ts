// What a server refuses at its start, with the code that every other command gives for it.
import { expect, it } from "vitest";
import type { EngineClient } from "../../contract/contract.ts";
import type { DeviceInfo } from "../../contract/views/engine.ts";
import { checkDevice } from "./deviceCheck.ts";

const able = { tokens: true, measure: true, profile: true, rewind: true, train: true, plan: true } as const;
const device = (id: string, more: Partial<DeviceInfo> = {}): DeviceInfo => ({
  ...{ id, title: id.toUpperCase(), backend: null, available: true, sentence: "It is here.", instead: null },
  capabilities: { ...able, graphs: true, segments: true },
  ...more,
});
const DEVICES = [
  device("packs", { cacheTypes: ["f16", "f32", "q8_0", "q4_0"] }),
  device("floats", { cacheTypes: ["f16", "f32"] }),
  device("away", { available: false, sentence: "It is on other machines only." }),
  device("mute", { capabilities: { ...able, graphs: true, segments: true, tokens: "It runs graphs only." } }),
];
const client = { call: () => Promise.resolve({ devices: DEVICES }) } as unknown as EngineClient;

it.each([
  ["gpu", null, "INPUT_ARGUMENT", "device: got gpu, expected one of packs, floats, away"],
  ["mute", null, "INPUT_ARGUMENT", "device: got mute, expected one of packs, floats, away"],
  ["away", null, "ENV_NO_DEVICE", "device away: It is on other machines only."],
  ["floats", "q8_0", "INPUT_ARGUMENT", "type of keys and values: got q8_0 on FLOATS, expected f16 or f32"],
  ["away", "q4_0", "INPUT_ARGUMENT", "type of keys and values: got q4_0 on AWAY, expected f16 or f32"],
] as const)("%s with keys and values as %s: %s", async (id, cacheType, code, said) => {
  await expect(checkDevice(client, { device: id, cacheType })).rejects.toMatchObject({
    ...{ code, message: `[server] ${said}` },
  });
});

it.each([
  ["packs", "q8_0"],
  ["floats", "f32"],
  ["floats", null],
] as const)("%s with keys and values as %s serves", async (id, cacheType) => {
  await expect(checkDevice(client, { device: id, cacheType })).resolves.toBeUndefined();
});
