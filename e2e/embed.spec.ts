/**
 * An embedder is dropped, looked at, used and exported, and a reranker is used: similarities as a
 * matrix, documents sorted by a query.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { writeTinyEmbedder } from "../main/testing/tinyEmbedder.ts";
import { ownWorkbench } from "./serve.ts";
import { dropAndSend, lookAt, openPath, openWindow, showTab, startReady, tab, write } from "./workbench.ts";

const own = ownWorkbench({
  prepare: async (folder) => {
    await writeTinyEmbedder(join(folder, "embedder.gguf"));
    await writeTinyEmbedder(join(folder, "reranker.gguf"), { ranks: true });
  },
});

test("an embedder", async ({ page }) => {
  const errors = await openWindow(page, await own.address(), "dark");
  await dropAndSend(page, join(own.folder(), "embedder.gguf"));
  await expect(page.getByText(/An encoder of 2 layers that makes vectors of texts/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Run", exact: true })).toBeDisabled();
  await showTab(page, "Graph");
  const panel = await showTab(page, "Embed");
  await panel.getByRole("button", { name: "Embed", exact: true }).click();
  const matrix = panel.getByRole("table", { name: "Cosine of each text with each other" });
  await expect(matrix.getByRole("cell")).toHaveCount(9);
  await expect(matrix.getByRole("cell", { name: "1.00" }).first()).toBeVisible();
  await panel.getByRole("button", { name: "Sort", exact: true }).click();
  const ranks = panel.getByRole("table", { name: "Documents, the best first" });
  await expect(ranks.getByRole("row")).toHaveCount(4);
  await expect(panel.getByText("This model is not a reranker")).toBeVisible();
  expect(await lookAt(page, "embed")).toEqual([]);
  await write(page, "Core ML package", "Export", join(own.folder(), "embedder.mlpackage"));
  expect(existsSync(join(own.folder(), "embedder.mlpackage", "Manifest.json"))).toBe(true);
  expect(errors).toEqual([]);
});

test("a reranker, and a decoder, which has no such tab", async ({ page }) => {
  const errors = await openWindow(page, await own.address());
  await startReady(page);
  await openPath(page, join(own.folder(), "reranker.gguf"));
  const panel = await showTab(page, "Embed");
  await panel.getByLabel("Query").fill("what is a panda?");
  await panel.getByLabel("Documents, one in each line").fill("a bear from china\na small car");
  await panel.getByRole("button", { name: "Sort", exact: true }).click();
  await expect(panel.getByRole("columnheader", { name: "score" })).toBeVisible();
  await expect(tab(page, "Overview")).toBeVisible();
  expect(errors).toEqual([]);
});
