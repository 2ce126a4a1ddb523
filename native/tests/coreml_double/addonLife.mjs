// The addon's life in Node, for a build under sanitizers: models and states are made, used, copied, cancelled and thrown away,
// ten thousand predictions leave nothing behind, and the process may end in the middle of it all.
//   node addonLife.mjs rlx_coreml.node PACKAGE
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [addonPath, packagePath] = process.argv.slice(2).map((path) => resolve(path));
const native = createRequire(import.meta.url)(addonPath);
const folder = mkdtempSync(join(tmpdir(), "rlx-addon-life-"));
const compiled = join(folder, "model.mlmodelc");
const options = { units: "cpu-ane" };

function must(holds, what) {
  if (holds) return;
  console.error(`addon life: ${what}`);
  process.exit(1);
}
const codeOf = (promise) => promise.then(() => "none", (error) => error.code);

// Every output is the input of the same size, every state stays as it is.
native.double.setEvaluator(({ inputs, states }, answer) =>
  answer({ outputs: inputs.map((input) => ({ ...input, name: "y" })), states }),
);
await native.compile(packagePath, compiled).promise;
const model = await native.load(compiled, options).promise;
const x = new Float32Array(400).map((_, i) => i % 7);
const inputs = [{ name: "x", data: x }];
const state = native.newState(model.id);

async function round(i) {
  const { outputs } = await native.predict(model.id, i % 2 === 0 ? state : null, inputs, { blocking: i % 3 === 0, keepHalf: i % 5 === 0 }).promise;
  must(outputs[0].data.length === 400 && (i % 5 === 0 || outputs[0].data[6] === 6), "a prediction has the right numbers");
}
/** Objects that exist once every handler has left its thread: an answer arrives before that. */
async function objectsAtRest() {
  for (let i = 0; native.double.counts().handlers > 0; i++) {
    must(i < 1000, "handlers come to an end");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return native.double.counts().objects;
}
for (let i = 0; i < 100; i++) await round(i);
const before = await objectsAtRest();
for (let i = 0; i < 10_000; i++) await round(i);
const after = await objectsAtRest();
must(after === before, `objects grew from ${before} to ${after}`);
must(native.counts().jobs === 0, "no job is left");

for (let i = 0; i < 50; i++) {
  const copy = await native.copyState(state).promise;
  await native.writeState(copy, { name: "total", data: x }).promise;
  must((await native.readState(copy, "total", false).promise).data[8] === 1, "a state holds what was written");
  must(native.dispose(copy) && !native.dispose(copy), "a state is disposed once");
}
must((await codeOf(native.predict(model.id, null, [], {}).promise)) === "INPUT_ARGUMENT", "a missing input");
for (const wrong of [null, 7, "x", {}, [null], [{}], [{ name: "x" }], [{ name: "x", data: [1] }], [{ name: "x", shape: [NaN], data: x }]]) {
  let code = "none";
  try {
    code = await codeOf(native.predict(model.id, null, wrong, {}).promise);
  } catch (error) {
    code = error.code;
  }
  must(code === "INPUT_ARGUMENT", `${JSON.stringify(wrong)} is refused, got ${code}`);
}

native.double.configure("predict-ms=5");
const jobs = Array.from({ length: 40 }, () => native.predict(model.id, state, inputs, {}));
for (const { job } of jobs.slice(5)) native.cancel(job);
const codes = await Promise.all(jobs.map(({ promise }) => codeOf(promise)));
must(codes.filter((code) => code === "CANCELLED").length >= 30 && codes[0] === "none", `cancelled: ${codes.join()}`);

// Gone while work is under way: the model is disposed, then the process ends.
const second = await native.load(compiled, options).promise;
const last = native.predict(second.id, null, inputs, {});
native.dispose(second.id);
must((await codeOf(last.promise)) === "none", "a prediction outlives its handle");
for (let i = 0; i < 8; i++) void native.predict(model.id, state, inputs, {}).promise.catch(() => undefined);
void native.load(compiled, options).promise.catch(() => undefined);
rmSync(folder, { recursive: true, force: true });
console.log("addon life: clean");
process.exit(0);
