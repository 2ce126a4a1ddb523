/**
 * What Core ML and the compilers behind it say when they refuse a program, read to a code. The texts are not documented; these forms
 * stand in public reports (apple/coremltools#1548, #2247 and #2758, ml-stable-diffusion#26 and #255, pytorch/executorch#19635).
 */

export interface CompileFailure {
  readonly id: "ane-compile" | "plan-build" | "ane-load";
  readonly title: string;
  /** As the message has it; null where it has none. */
  readonly number: number | null;
  readonly sentence: string;
}

/** "ANECCompile() FAILED (11)", "ANECCompile(/a/folder/) FAILED: err=(…)", "ANECCompileOffline() failed". */
const ANE_COMPILE = /ANECCompile(?:Offline)?\([^)]*\) *FAILED(?: *\((-?\d+)\))?/i;
const ANE_FRONT = /MILCompilerForANE error/;
/** "Failed to build the model execution plan using a model architecture file '…' with error code: -14." */
const PLAN_BUILD = /Failed to build the model execution plan[^\n]{0,2000}?error code: (-?\d+)/;
const OLD_PLAN_BUILD = /Error plan build: (-?\d+)/;
/** "createProgramInstanceForModel:…: Program load failure (0x20004)". */
const ANE_LOAD = /Program load failure \((0x[0-9a-f]{1,8})\)/i;
const MOST_READ = 8000;

const numberOf = (match: RegExpExecArray | null): number | null => (match?.[1] === undefined ? null : Number(match[1]));
const withNumber = (title: string, number: number | null): string => (number === null ? title : `${title} (${number})`);

/** From the error's sentence and what the helper wrote on standard error; undefined where neither is known. */
export function readFailure(...texts: readonly string[]): CompileFailure | undefined {
  const text = texts.map((one) => one.slice(-MOST_READ)).join("\n");
  const plan = PLAN_BUILD.exec(text) ?? OLD_PLAN_BUILD.exec(text);
  const ane = ANE_COMPILE.exec(text);
  if (ane !== null || ANE_FRONT.test(text)) {
    const number = numberOf(ane) ?? numberOf(plan);
    return {
      id: "ane-compile",
      title: withNumber("The Neural Engine’s compiler refused the program", number),
      number,
      sentence:
        "The package itself compiles; what fails is its translation for the Neural Engine. The message names no operation. Apple documents none of these numbers.",
    };
  }
  if (plan !== null) {
    const number = numberOf(plan);
    return {
      id: "plan-build",
      title: withNumber("Core ML could not build a plan for these units", number),
      number,
      sentence:
        "Public reports have this where the Neural Engine’s compiler refused a program. The message names no operation, and Apple documents none of these numbers.",
    };
  }
  const load = ANE_LOAD.exec(text);
  if (load === null) return undefined;
  return {
    id: "ane-load",
    title: `The Neural Engine did not take the compiled program (${load[1] ?? ""})`,
    number: numberOf(load),
    sentence: "It was compiled and could not be loaded: public reports have this for programs that are too large.",
  };
}
