// Holds the Core ML bridge to the published API (native/src/coreml/selectors.json), as part of its build:
//   node scripts/coremlSelectors.mjs prove OUT.mm             writes a source that only compiles when the headers in use have
//                                                            every selector, type and value of the table
//   node scripts/coremlSelectors.mjs used SOURCES -- OBJECTS  every selector and class in the object files, and every name of
//                                                            Core ML in the sources, is in the table
// The headers are those of the double here and Apple's own on a Mac.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { spawnSync } from "node:child_process";
import { root } from "./lib/process.mjs";

export const readTable = () => JSON.parse(readFileSync(join(root, "native/src/coreml/selectors.json"), "utf8"));

/** `type name`, with the name inside where the type is a block. */
const declared = (type, name) => (type.includes("(^)") ? type.replace("(^)", `(^${name})`) : `${type} ${name}`);

/** `+a:b:` with its arguments as a message. */
function message(receiver, selector, count) {
  const parts = selector.slice(1).split(":");
  if (count === 0) return `[${receiver} ${parts[0]}]`;
  return `[${receiver} ${parts
    .slice(0, count)
    .map((part, i) => `${part}:a${i}`)
    .join(" ")}]`;
}

const scalars = new Set([
  "double",
  "BOOL",
  "NSInteger",
  "long long",
  "const char *",
  "NSRange",
  "NSOperatingSystemVersion",
]);
const isExact = (type, table) => scalars.has(type) || Object.hasOwn(table.enumerators, type);

function proofOf(owner, isProtocol, selector, { returns, takes }, table, index) {
  const object = isProtocol ? `id<${owner}> o` : `${owner} *o`;
  const receiver = selector.startsWith("+")
    ? owner
    : selector.startsWith("-init") && !isProtocol
      ? `[${owner} alloc]`
      : "o";
  // `NSError **` is written as such in headers, and means this.
  const types = takes.map((type) => (type === "NSError **" ? "NSError *__autoreleasing *" : type));
  const parameters = [object, ...types.map((type, i) => declared(type, `a${i}`))].join(", ");
  const call = message(receiver, selector, takes.length);
  const body =
    returns === "void"
      ? `static_assert(__is_same(decltype(${call}), void));\n  ${call};`
      : `${declared(returns, "result")} = ${call};\n  (void)result;` +
        (isExact(returns, table) ? `\n  static_assert(__is_same(decltype(${call}), ${returns}));` : "");
  const unused = receiver === "o" ? "" : "(void)o;\n  ";
  return `[[maybe_unused]] static void proof_${index}(${parameters}) {\n  ${unused}${body}\n}`;
}

/** Newest system that is asked for on each line of what clang says about the guards of a source. */
function newestPerLine(text) {
  const found = new Map();
  for (const [, line, version] of text.matchAll(
    /\.mm:(\d+):\d+: warning: .* is only available on macOS ([\d.]+) or newer/g,
  )) {
    const known = found.get(Number(line));
    if (known === undefined || olderThan(known, version)) found.set(Number(line), version);
  }
  return found;
}

export function olderThan(a, b) {
  const [x, y] = [a, b].map((version) => version.split(".").map(Number));
  for (let i = 0; i < 3; i++) if ((x[i] ?? 0) !== (y[i] ?? 0)) return (x[i] ?? 0) < (y[i] ?? 0);
  return false;
}

/**
 * Where the headers and the table do not have the same first system, for everything newer than `deployment`: what clang said of
 * the proof, compiled for that system with its guards looked at. A line of the proof is one entry of the table.
 */
export function availabilityFaults(table, proof, said, deployment) {
  const newest = newestPerLine(said);
  const lines = proof.split("\n");
  const faults = [];
  for (const { name, since, marker } of entriesOf(table)) {
    if (since === undefined) faults.push(`${name} has no first system in the table`);
    const first = lines.findIndex((line) => line.includes(marker));
    const last = lines.findIndex((line, i) => i >= first && line === "}");
    const versions = [];
    for (let line = first; line <= last; line++) if (newest.has(line + 1)) versions.push(newest.get(line + 1));
    const said = versions.reduce((a, b) => (a === undefined || olderThan(a, b) ? b : a), undefined);
    const wanted = since !== undefined && olderThan(deployment, since) ? since : undefined;
    if (first < 0) faults.push(`${name} is not in the proof`);
    else if ((said ?? "") !== (wanted ?? ""))
      faults.push(`${name}: the headers say ${said ?? "nothing newer"}, the table ${since ?? "nothing"}`);
  }
  return faults;
}

const ownersOf = (table) => [
  ...Object.entries(table.classes).map(([name, methods]) => [name, methods, false]),
  ...Object.entries(table.protocols).map(([name, methods]) => [name, methods, true]),
];

/** Every entry with the text that its part of the proof has. */
function entriesOf(table) {
  const methods = ownersOf(table).flatMap(([owner, list]) =>
    Object.entries(list).map(([selector, { since }]) => ({ name: `${owner} ${selector}`, since })),
  );
  return [
    ...methods.map((entry, i) => ({ ...entry, marker: `static void proof_${i}(` })),
    ...Object.entries(table.functions).map(([name, { since }]) => ({
      name,
      since,
      marker: `static void call_${name}(`,
    })),
  ];
}

/** A source that proves the headers against the table; `guards`: it is compiled to see which calls need one. */
export function proofSource(table, { guards = false } = {}) {
  const lines = [
    "// Generated by scripts/coremlSelectors.mjs from selectors.json: compiles only when the headers agree with the table.",
    "#import <CoreML/CoreML.h>",
    "#import <Metal/Metal.h>",
    `#pragma clang diagnostic ${guards ? "warning" : "ignored"} "-Wunguarded-availability-new"`,
    '#pragma clang diagnostic ignored "-Wunused-value"',
    '#pragma clang diagnostic ignored "-Wunused-result"',
  ];
  for (const [type, values] of Object.entries(table.enumerators))
    for (const [name, value] of Object.entries(values)) {
      lines.push(`static_assert(static_cast<long long>(${name}) == ${value}, "${name}");`);
      lines.push(`static_assert(sizeof(${type}) == 8, "${type}");`);
    }
  for (const [name, type] of Object.entries(table.constants))
    lines.push(
      `[[maybe_unused]] static void constant_${name}() {\n  ${declared(type, "held")} = ${name};\n  (void)held;\n}`,
    );
  for (const [name, { returns }] of Object.entries(table.functions))
    lines.push(
      `[[maybe_unused]] static void call_${name}() {\n  ${declared(returns, "result")} = ${name}();\n  (void)result;\n}`,
    );
  let index = 0;
  for (const [owner, methods, isProtocol] of ownersOf(table))
    for (const [selector, type] of Object.entries(methods))
      lines.push(proofOf(owner, isProtocol, selector, type, table, index++));
  return `${lines.join("\n")}\n`;
}

function knownNames(table) {
  const selectors = new Set(table.implicit);
  const names = new Set([
    ...Object.keys(table.classes),
    ...Object.keys(table.protocols),
    ...Object.keys(table.functions),
  ]);
  for (const name of [...Object.keys(table.constants), ...Object.keys(table.enumerators)]) names.add(name);
  for (const values of Object.values(table.enumerators)) for (const name of Object.keys(values)) names.add(name);
  for (const methods of [...Object.values(table.classes), ...Object.values(table.protocols)])
    for (const selector of Object.keys(methods)) selectors.add(selector.slice(1));
  names.add("MLComputeDeviceProtocol");
  return { selectors, names };
}

/** Faults of the bridge against the table: selectors and classes of object files, names of sources. */
export function usedFaults(table, symbols, sources) {
  const { selectors, names } = knownNames(table);
  const faults = new Set();
  for (const [, selector] of symbols.matchAll(/\.objc_selector_([^_\s]+)_/g))
    if (!selectors.has(selector)) faults.add(`the bridge sends ${selector}, which the table does not have`);
  for (const [, name] of symbols.matchAll(/\._OBJC_REF_CLASS_(\w+)/g))
    if (!names.has(name)) faults.add(`the bridge uses the class ${name}, which the table does not have`);
  for (const source of sources)
    for (const [name] of source.replace(/\/\/.*$|"[^"]*"/gm, "").matchAll(/\bML[A-Z]\w*/g))
      if (!names.has(name)) faults.add(`the bridge names ${name}, which the table does not have`);
  return [...faults];
}

function symbolsOf(objects) {
  const { status, stdout, stderr } = spawnSync("nm", objects, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`nm failed: ${stderr}`);
  return stdout;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [what, ...rest] = process.argv.slice(2);
  const table = readTable();
  if (what === "prove") writeFileSync(rest[0], proofSource(table));
  else if (what === "used") {
    const cut = rest.indexOf("--");
    const faults = usedFaults(
      table,
      symbolsOf(rest.slice(cut + 1)),
      rest.slice(0, cut).map((path) => readFileSync(path, "utf8")),
    );
    for (const fault of faults) console.error(`selectors: ${fault}`);
    process.exit(faults.length > 0 ? 1 : 0);
  } else throw new Error("prove or used");
}
