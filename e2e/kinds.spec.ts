/**
 * Models of other kinds, each dropped, looked at, run and exported: a Hugging Face folder, a hybrid,
 * a mixture of experts.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "@playwright/test";
import { writePlainFolder } from "../main/testing/plainFolder.ts";
import { writeSampleAdapter } from "../main/testing/sampleAdapter.ts";
import { writePlainSample } from "../main/testing/toyFiles.ts";
import { ownWorkbench } from "./serve.ts";
import {
  answerOf,
  dropAndSend,
  legend,
  lookAt,
  openPath,
  openWindow,
  sampleCopy,
  eightTokens,
  showTab,
  write,
} from "./workbench.ts";

let out: string;
const own = ownWorkbench({
  prepare: async (folder) => {
    out = join(folder, "out");
    mkdirSync(out);
    await writePlainFolder(join(folder, "Toy llama"), { shards: 2 });
    await writePlainSample(join(folder, "hybrid.gguf"), "qwen35");
    await writePlainSample(join(folder, "mixture.gguf"), "qwen3moe");
    await writeSampleAdapter(join(folder, "adapter.gguf"));
  },
});

async function complete(page: Page, text: string): Promise<Locator> {
  const panel = await eightTokens(page);
  await panel.getByLabel("Text to continue").fill(text);
  await panel.getByRole("button", { name: "Send", exact: true }).click();
  const turn = panel.getByRole("article").last();
  await expect(turn).toContainText(/\d\st\/s/);
  await expect(turn.getByRole("alert")).toHaveCount(0);
  await expect(panel.getByRole("button", { name: "Send", exact: true })).toBeVisible();
  await expect(answerOf(turn)).not.toBeEmpty();
  return turn;
}

test("a Hugging Face folder, converted to a GGUF that is opened", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  const overview = await dropAndSend(page, join(own.folder(), "Toy llama"));
  await expect(overview).toContainText("2 safetensors files");
  await expect(overview).toContainText("Toy llama");
  await complete(page, "the panda");
  await write(page, "Core ML package", "Export", join(out, "toy.mlpackage"));
  const panel = await showTab(page, "Export");
  await panel.getByRole("radio", { name: "Convert" }).click();
  await expect(panel).toContainText("read from 2 safetensors files");
  await panel.getByLabel("Matrices").selectOption("f16");
  await panel.getByRole("radio", { name: "By tensors" }).click();
  await expect(panel.getByRole("list", { name: "Files" })).toHaveCount(0);
  await panel.getByLabel("At most tensors").fill("12");
  await expect(panel.getByRole("list", { name: "Files" }).getByRole("listitem")).toHaveCount(2);
  await write(page, "Convert", "Convert", join(out, "toy.gguf"));
  expect(readdirSync(out).toSorted()).toEqual(["toy-00001-of-00002.gguf", "toy-00002-of-00002.gguf", "toy.mlpackage"]);
  expect(await lookAt(page, "convert-report")).toEqual([]);
  await panel.getByRole("button", { name: "Open it" }).click();
  await expect(page.getByRole("tabpanel")).toContainText("GGUF 3");
  expect(errors).toEqual([]);
});

test("a hybrid, whose graph shows layers of two kinds", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  const overview = await dropAndSend(page, join(own.folder(), "hybrid.gguf"));
  await expect(overview).toContainText(/qwen35/);
  await showTab(page, "Graph");
  await expect.poll(() => legend(page)).not.toBe("");
  await expect(
    page
      .locator(".react-flow__node")
      .filter({ hasText: /delta net/i })
      .first(),
  ).toBeVisible();
  expect(await lookAt(page, "hybrid-graph")).toEqual([]);
  await complete(page, "once");
  await write(page, "Core ML package", "Export", join(out, "hybrid.mlpackage"));
  expect(existsSync(join(out, "hybrid.mlpackage", "Manifest.json"))).toBe(true);
  expect(errors).toEqual([]);
});

test("a mixture, whose experts are counted after a run", async ({ page }) => {
  const errors = await openWindow(page, await own.address(), "dark");
  const overview = await dropAndSend(page, join(own.folder(), "mixture.gguf"));
  await expect(overview).toContainText(/2 of 8 experts/);
  await showTab(page, "Graph");
  const cards = page.locator(".react-flow__node");
  await expect.poll(() => legend(page)).not.toBe("");
  await page.locator("[data-graph-canvas]").focus();
  await cards.filter({ hasText: "block 0" }).first().dblclick();
  await expect(cards.filter({ hasText: /experts/ }).first()).toBeVisible();
  await complete(page, "the panda");
  await showTab(page, "Profile");
  await page.getByRole("button", { name: "Count", exact: true }).click();
  await expect(page.getByRole("img", { name: /Layers from top to bottom, experts/ })).toBeVisible();
  expect(await lookAt(page, "mixture-experts")).toEqual([]);
  await write(page, "Core ML package", "Export", join(out, "mixture.mlpackage"));
  expect(existsSync(join(out, "mixture.mlpackage", "Manifest.json"))).toBe(true);
  expect(errors).toEqual([]);
});

test("a LoRA adapter is applied to the open model, and the conversation stays", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await openPath(page, sampleCopy(own.folder(), "sample.gguf"));
  await complete(page, "Once upon a time");
  const panel = page.getByRole("tabpanel", { name: "Run" });
  await page.getByRole("button", { name: "Sampling parameters" }).click();
  const add = page.getByLabel("Adapter to add, a GGUF on the engine's machine");
  await add.fill(join(own.folder(), "nowhere.gguf"));
  await page.getByRole("button", { name: "Add the adapter" }).click();
  await expect(page.getByText("The adapters could not be applied")).toBeVisible();
  await add.fill(join(own.folder(), "adapter.gguf"));
  await page.getByRole("button", { name: "Add the adapter" }).click();
  await expect(page.getByRole("button", { name: "Remove adapter.gguf" })).toBeVisible();
  await page.getByLabel("Scale").fill("-8");
  expect(await lookAt(page, "adapters")).toEqual([]);
  await page.keyboard.press("Escape");
  await complete(page, "Once upon a time");
  await expect(panel.getByRole("article")).toHaveCount(2);
  await page.getByRole("button", { name: "Sampling parameters" }).click();
  await page.getByRole("button", { name: "Remove adapter.gguf" }).click();
  await expect(page.getByRole("button", { name: "Remove adapter.gguf" })).toHaveCount(0);
  expect(errors).toEqual([]);
});
