// Only the list of devices and each device's own file know ids. All other code asks for a capability
// (main/runtime/devices/provider.ts), so that a new device changes nothing else.
//
// "mlx", "coreml", "coreml-sim" and "webgpu" are allowed in the rooms below, and as the backend of a
// compile. "cpu" and "reference" have other meanings too, so only a comparison with a device is refused.

/** Folders that may know ids: devices, their lists, backends, and the rules of ops for them. */
const rooms = [
  "main/runtime/devices",
  "main/node/devices",
  "main/backends",
  "main/ops",
  "main/testing",
  "renderer/devices/testDevices.ts",
];
const watched = ["main", "renderer", "app", "bin"];
const IDS = new Set(["mlx", "coreml", "coreml-sim", "webgpu"]);
const WORDS = new Set(["cpu", "reference"]);
/** Names of the compiler's own parameters. */
const backendNames = new Set(["backend", "side"]);
const deviceName = /^id$|device/i;
const fromCompiler = /\/(compiler|passes)\//;
const fromDevice = /\/(runtime|node)\/devices\//;
const quick = /["'`](mlx|coreml|coreml-sim|webgpu|cpu|reference)["'`]/;

const inside = (folder, path) => path === folder || path.startsWith(`${folder}/`);

/** The name that an expression ends in: `input.device` is "device". */
function nameOf(node) {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "MemberExpression") return node.computed ? "" : nameOf(node.property);
  if (node?.type === "ChainExpression") return nameOf(node.expression);
  return "";
}

const keyOf = ({ key }) => key?.name ?? key?.value ?? "";

function textOf(node) {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return undefined;
}

/** The other side of a comparison, or what a `case` belongs to. */
function comparedWith(node, parents) {
  const parent = parents.at(-1);
  if (parent?.type === "BinaryExpression" && /^[!=]==?$/.test(parent.operator))
    return parent.left === node ? parent.right : parent.left;
  if (parent?.type === "SwitchCase" && parent.test === node) return parents.at(-2).discriminant;
  return undefined;
}

function isBackend(node, parents, compilerNames) {
  const parent = parents.at(-1);
  if (parent?.type === "Property" && parent.value === node) return backendNames.has(keyOf(parent));
  if (parent?.type === "CallExpression") return compilerNames.has(nameOf(parent.callee));
  const other = comparedWith(node, parents);
  return other !== undefined && backendNames.has(nameOf(other));
}

function isDevice(node, parents) {
  const parent = parents.at(-1);
  const other = comparedWith(node, parents);
  if (other !== undefined) return deviceName.test(nameOf(other));
  if (parent?.type === "Property" && parent.value === node) return keyOf(parent) === "device";
  return parent?.type === "CallExpression" && nameOf(parent.callee) === "default";
}

function* textsOf(node, parents = []) {
  if (typeof node !== "object" || node === null) return;
  const isNode = typeof node.type === "string";
  if (isNode && textOf(node) !== undefined) yield { node, parents };
  const below = isNode ? [...parents, node] : parents;
  for (const value of Object.values(node)) yield* textsOf(value, below);
}

function compilerNamesOf({ staticImports }) {
  const found = staticImports.filter(({ moduleRequest }) => fromCompiler.test(moduleRequest.value));
  return new Set(found.flatMap(({ entries }) => entries.map(({ localName }) => localName.value)));
}

/** Constants of a device's own file, by the names that they have here. */
function deviceConstantsOf({ staticImports }) {
  const found = staticImports.filter(({ moduleRequest }) => fromDevice.test(moduleRequest.value));
  const names = found.flatMap(({ entries }) => entries.map(({ localName }) => localName.value));
  return new Set(names.filter((name) => /^[A-Z][A-Z_]*$/.test(name)));
}

function* comparisonsOf(node, names) {
  if (typeof node !== "object" || node === null) return;
  if (node.type === "BinaryExpression" && /^[!=]==?$/.test(node.operator))
    for (const side of [node.left, node.right])
      if (side.type === "Identifier" && names.has(side.name)) yield { node, name: side.name };
  for (const value of Object.values(node)) yield* comparisonsOf(value, names);
}

/** Device ids in a file that must not know them: the line, and what to do instead. */
export function deviceNameFaults(path, text, { module, program }) {
  if (!watched.some((folder) => inside(folder, path))) return [];
  if (/\.test\.tsx?$/.test(path) || rooms.some((room) => inside(room, path))) return [];
  const lineOf = (node) => text.slice(0, node.start).split("\n").length;
  const faults = [];
  const constants = deviceConstantsOf(module);
  if (constants.size > 0)
    for (const { node, name } of comparisonsOf(program, constants))
      faults.push({
        line: lineOf(node),
        fault: `compares with ${name}, a device's constant: ask the list of devices for a capability (main/runtime/devices/provider.ts)`,
      });
  if (!quick.test(text)) return faults;
  const compilerNames = compilerNamesOf(module);
  for (const { node, parents } of textsOf(program)) {
    const id = textOf(node);
    const named = IDS.has(id) ? !isBackend(node, parents, compilerNames) : WORDS.has(id) && isDevice(node, parents);
    if (named)
      faults.push({
        line: lineOf(node),
        fault: `names the device "${id}": ask the list of devices for a capability (main/runtime/devices/provider.ts)`,
      });
  }
  return faults;
}
