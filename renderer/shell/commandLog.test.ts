// The log holds the command of every action that the command line knows, so that what was done can be repeated.
import { expect, it } from "vitest";
import { until } from "../../main/testing/until.ts";
import { LEGAL_STAGE } from "../features/graph/graphState.ts";
import { openSample } from "../testing/openStore.ts";

async function opened() {
  const { get } = await openSample();
  await until(() => get().passes.kind === "ready" && get().picture.kind === "ready");
  /** What an action wrote, without the model's name. */
  const written = (act: () => void): readonly string[] => {
    const before = get().log.at(-1)?.id ?? 0;
    act();
    return get().log.flatMap(({ id, kind, text }) =>
      id > before && kind === "command" ? [text.replace(/^(rlx \w+) \S+/, "$1")] : [],
    );
  };
  return { get, written };
}

const TARGET = /--phase decode --chip m\d --os \S+ --units \S+ --profile \S+ --context \d+$/;

it("has the stages of the graph", async () => {
  const { get, written } = await opened();
  const one = (act: () => void): string => {
    const lines = written(act);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(TARGET);
    return lines[0]!.replace(TARGET, "").trim();
  };
  expect(one(() => get().setGraphStage({ ...LEGAL_STAGE, step: "built" }))).toBe(
    "rlx graph --backend coreml --stage built",
  );
  const [before, pass] = get().passChoices.slice(2, 4);
  expect(one(() => get().showPass(pass!.name))).toBe(`rlx graph --backend coreml --stage '${pass!.name}'`);
  expect(one(() => get().setPassSide("before"))).toBe(`rlx graph --backend coreml --stage '${before!.name}'`);
  expect(one(() => get().setGraphStage(LEGAL_STAGE))).toBe("rlx graph --backend coreml --stage legal");
});

it("has the pipeline's passes and programs", async () => {
  const { get, written } = await opened();
  const name = get().passChoices[0]!.name;
  const [passes] = written(() => get().choosePass(name));
  expect(passes).toMatch(/^rlx passes --backend coreml --phase decode --chip m\d --os /);
  const [mil] = written(() => get().showMil(1));
  expect(mil).toMatch(/^rlx graph --mil --phase decode /);
  const [route] = written(() => get().setBackend("cpu"));
  expect(route).toMatch(/^rlx route --backend cpu --phase decode --chip m\d --context \d+$/);
  const [ir] = written(() => get().setPipelineView("rlx-ir"));
  expect(ir).toMatch(/^rlx graph --backend cpu --stage legal --phase decode /);
});

it("has the demo's run, with its device and target", async () => {
  const { get, written } = await opened();
  get().setHybridDevice("coreml");
  const [line] = written(() => void get().runHybrid());
  expect(line).toMatch(/^rlx run --device coreml --chip m\d --os \S+ --units \S+ --profile \S+$/);
});

it("has the seed that was drawn, and the one that was given", async () => {
  const { get, written } = await opened();
  const seeds: (string | undefined)[] = [];
  await get().loadTemplate();
  for (const seed of [null, null, 7]) {
    get().setParameters({ seed, maxTokens: 2 });
    get().setDraft("Why?");
    const [line] = written(() => void get().send());
    seeds.push(/--seed (\d+)/.exec(line ?? "")?.[1]);
    await until(() => get().running === null);
    expect(String(get().runHistory[0]?.seed)).toBe(seeds.at(-1));
  }
  expect(seeds[0]).not.toBe(seeds[1]);
  expect(seeds[2]).toBe("7");
});
