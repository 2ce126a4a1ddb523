/** A chat with folded reasoning and a call of a tool. A grammar makes a tiny model write the answer that is looked at. */
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { toolTemplate, writeTinyGguf } from "../main/testing/tinyGguf.ts";
import { ownWorkbench } from "./serve.ts";
import { axeFindings, openLook, openPath, picture, showTab } from "./workbench.ts";

const own = ownWorkbench();

const THOUGHT = "They ask for the weather in Rome, so I call the tool.";
const ANSWER = `<think>\n${THOUGHT}\n</think>\n\nLet me look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>`;
const TOOLS = JSON.stringify([{ type: "function", function: { name: "weather", description: "The weather." } }]);

test("reasoning is folded, and a call takes its result", async ({ page }) => {
  test.setTimeout(180_000);
  const model = join(own.folder(), "tools.gguf");
  await writeTinyGguf(model, { template: toolTemplate });
  // A narrow one: the pane of the settings covers the view.
  const errors = await openLook(page, await own.address(), { theme: "dark", width: 760, height: 700 });
  await openPath(page, model);
  const panel = await showTab(page, "Run");
  const settings = panel.getByRole("button", { name: "Sampling parameters" });
  const form = page.getByRole("dialog");
  await settings.click();
  await form.getByLabel("Tools, a JSON list").fill("[");
  await expect(form.getByText("The tools cannot be read")).toBeVisible();
  await form.getByLabel("Tools, a JSON list").fill(TOOLS);
  await expect(form.getByLabel("Use of tools").getByRole("option")).toHaveText([
    "As the model likes",
    "None: the model is not told of them",
    "At least one",
    "Always weather",
  ]);
  await expect(form.getByText("it knows enable_thinking")).toBeVisible();
  await picture(page, "chat-settings");
  await form.getByText("Advanced").click();
  const grammar = form.getByLabel("Grammar (GBNF)");
  await grammar.fill(`root ::= ${JSON.stringify(ANSWER)}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(form).toBeHidden();

  await page.locator("#composer").fill("What is the weather in Rome?");
  await page.keyboard.press("Enter");
  const turn = panel.getByRole("article").first();
  await expect(turn).toContainText("The model ended its answer.");
  await expect(turn.locator("[data-answer]")).toHaveText("Let me look.");
  // Folded until it is asked for.
  const thought = turn.getByText(THOUGHT);
  await expect(thought).toBeHidden();
  await turn.getByText(/^Thought, \d+ tokens$/).click();
  await expect(thought).toBeVisible();
  const call = turn.getByRole("region", { name: "Calls weather" });
  await expect(call).toContainText('"city": "Rome"');
  const give = turn.getByRole("button", { name: "Give the result" });
  await expect(give).toBeDisabled();
  await call.getByLabel("Result of weather").fill('{"sky": "grey"}');
  await picture(page, "chat-call");
  expect(await axeFindings(page)).toEqual([]);

  await settings.click();
  await form.getByText("Advanced").click();
  await grammar.fill('root ::= "It is grey."');
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(form).toBeHidden();
  await give.click();
  const second = panel.getByRole("article").nth(1);
  await expect(second.locator("[data-answer]")).toHaveText("It is grey.");
  await expect(second.getByRole("region", { name: "Result of weather" })).toContainText('{"sky": "grey"}');
  await expect(give).toBeHidden();
  await picture(page, "chat-result");
  expect(errors).toEqual([]);
});
