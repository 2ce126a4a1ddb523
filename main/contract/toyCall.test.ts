// "A contract call: 2" (docs/extending.md): its entry in the contract and its handler. A toy call shows that nothing between them
// has to know it, and that both are checked.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { createClient } from "./client.ts";
import { contract } from "./contract.ts";
import { call } from "./define.ts";
import type { Handlers } from "./define.ts";
import { createPortPair } from "./port.ts";
import { serve } from "./serve.ts";

// ---- the first file: its entry in main/contract/contract.ts
const withToy = {
  ...contract,
  calls: {
    ...contract.calls,
    "toy.scale": call(z.object({ by: z.number().max(10) }), z.object({ scaled: z.number() })),
  },
};

// ---- the second: its handler in main/engine/handlers
type ToyHandlers = Pick<Handlers<typeof withToy>["calls"], "toy.scale">;
const toyHandlers: ToyHandlers = { "toy.scale": ({ by }) => ({ scaled: 7 * by }) };

/** The other handlers of the contract: none of them is asked. */
const otherHandlers = {} as Handlers<typeof contract>["calls"];
const streams = {} as Handlers<typeof contract>["streams"];

function connected() {
  const [near, far] = createPortPair();
  serve(withToy, { calls: { ...otherHandlers, ...toyHandlers }, streams }, far);
  return createClient(withToy, near, { checkOutputs: true });
}

test("a new call is answered, and its input is checked", async () => {
  const client = connected();
  expect(await client.call("toy.scale", { by: 3 })).toEqual({ scaled: 21 });
  await expect(client.call("toy.scale", { by: 11 })).rejects.toMatchObject({
    code: "CONTRACT_INPUT",
    message: expect.stringContaining("by") as string,
  });
  client.close();
});

test("a handler that is missing, or answers something else, does not compile", () => {
  // @ts-expect-error the handler of toy.scale is missing
  const missing: ToyHandlers = {};
  // @ts-expect-error a number was promised
  const wrong: ToyHandlers = { "toy.scale": () => ({ scaled: "7" }) };
  expect([missing, wrong]).toHaveLength(2);
});

/** Files of a folder and those below it, without tests. */
const sourcesIn = (folder: string): readonly string[] => {
  const root = fileURLToPath(new URL(folder, import.meta.url));
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/\.test\.|[\\/]test/.test(name))
    .map((name) => `${root}/${name}`);
};

test("nothing between a caller and its handler names a call", () => {
  const between = [".", "../node/serve", "../../app"]
    .flatMap(sourcesIn)
    .filter((path) => !path.endsWith("/contract.ts"));
  expect(between.length).toBeGreaterThan(30);
  const names = [...Object.keys(contract.calls), ...Object.keys(contract.streams)];
  const naming = between.filter((path) => {
    const text = readFileSync(path, "utf8");
    return names.some((name) => text.includes(`"${name}"`));
  });
  expect(naming).toEqual([]);
});
