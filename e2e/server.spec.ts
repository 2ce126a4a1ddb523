/** The server for other programs from the window: started, asked by a program, seen in the log, stopped. */
import { expect, test } from "@playwright/test";
import { ownWorkbench } from "./serve.ts";
import { lookAt, LOOKS, openLook, openPath, sampleCopy, showTab } from "./workbench.ts";

let sample: string;
const own = ownWorkbench({
  prepare: (folder) => {
    sample = sampleCopy(folder, "story-teller.gguf");
  },
});

test("serves another program", async ({ page }) => {
  const errors = await openLook(page, await own.address(), LOOKS.leastLight);
  await openPath(page, sample);
  const panel = await showTab(page, "Server");
  await expect(panel.getByLabel(/^Model files and folders/)).toHaveValue(sample);
  await panel.getByLabel("Keep prompts and answers in the log").check();
  expect(await lookAt(page, "server-start")).toEqual([]);
  await panel.getByRole("button", { name: "Start the server" }).click();
  const card = panel.getByRole("region", { name: "Serving" });
  await expect(card).toContainText("story-teller");
  const url = await card.locator("code").nth(0).innerText();
  const key = await card.locator("code").nth(1).innerText();
  const ask = (authorization: string): Promise<Response> =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization },
      body: JSON.stringify({ messages: [{ role: "user", content: "Tell me a story." }], max_tokens: 20 }),
    });
  for (const authorization of [`Bearer ${key}`, `Bearer ${key}`, "Bearer another"]) await ask(authorization);
  const rows = panel.getByRole("table", { name: "Requests, the newest first" }).getByRole("row");
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(1)).toContainText("invalid_api_key");
  await expect(rows.nth(2)).toContainText("/chat/completions");
  await expect(rows.nth(2)).toContainText(/92\s%\sreused/u);
  await rows.nth(2).getByRole("button", { name: "200" }).click();
  await expect(panel.getByText('[{"role":"user","content":"Tell me a story."}]')).toBeVisible();
  expect(await lookAt(page, "server")).toEqual([]);
  // The table fits the smallest window.
  await expect(rows.first().getByRole("columnheader", { name: "first token" })).toBeInViewport({ ratio: 1 });
  await panel.getByRole("button", { name: "Stop the server" }).click();
  await expect(panel.getByRole("button", { name: "Start the server" })).toBeVisible();
  await expect(ask(`Bearer ${key}`)).rejects.toThrow();
  expect(errors).toEqual([]);
});
