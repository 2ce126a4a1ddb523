// The list of devices: what is listed, what each can do, which stands in for another, and what is
// said where something cannot be done.
import { expect, test } from "vitest";
import type { DeviceCapabilities } from "./provider.ts";
import { referenceProvider } from "./reference.ts";
import { deviceRegistry } from "./registry.ts";

const ALL: DeviceCapabilities = {
  tokens: true,
  measure: true,
  profile: true,
  rewind: true,
  train: true,
  plan: true,
  graphs: true,
  segments: true,
};
const device = (id: string, more: Partial<DeviceCapabilities> = {}, standIn?: string) => ({
  id,
  capabilities: { ...ALL, ...more },
  ...(standIn === undefined ? {} : { standIn: () => standIn }),
});

test("a device is asked for by id or by what it can do", () => {
  const plain = device("plain", { plan: "It plans nothing." });
  const other = device("other");
  const { first, find, get, able } = deviceRegistry([plain, other]);
  expect([first, get("other", "test"), find("plan"), able("other", "plan", "test")]).toEqual([
    plain,
    other,
    other,
    other,
  ]);
  const refused = { code: "ENV_NO_DEVICE", message: "[test] device plain: It plans nothing.", hint: "Choose other." };
  expect(() => able("plain", "plan", "test")).toThrow(expect.objectContaining(refused));
  const unknown = { code: "ENV_NO_DEVICE", message: "[test] device: got tpu, expected one of plain, other" };
  expect(() => get("tpu", "test")).toThrow(expect.objectContaining(unknown));
});

test("what no device can do is refused without a proposal", () => {
  const { able, find } = deviceRegistry([device("plain", { train: "It does not train." })]);
  expect(find("train")).toBeUndefined();
  const refused = { message: "[test] device plain: It does not train.", hint: "No device of this version can." };
  expect(() => able("plain", "train", "test")).toThrow(expect.objectContaining(refused));
});

test("what stands in is not in the list, and runs where it is named", () => {
  const reference = { ...device("reference"), hidden: true };
  const [absent, here] = [device("absent", {}, "reference"), device("here")];
  const { listed, running, get } = deviceRegistry([absent, here, reference]);
  expect(listed).toEqual([absent, here]);
  expect([running(absent), running(here)]).toEqual([reference, here]);
  expect(() => get("reference", "test")).toThrow(/expected one of absent, here/);
});

test("a list is refused with an id that stands twice or is none, and without a device to choose", () => {
  expect(() => deviceRegistry([device("a"), device("a")])).toThrow(/stands twice/);
  expect(() => deviceRegistry([device("My Device")])).toThrow(/expected lower case letters/);
  expect(() => deviceRegistry([referenceProvider()])).toThrow(/can be chosen/);
});
