/** Native walls: each row of the table is shown to refuse what it must not include. */
import { describe, expect, it } from "vitest";
import { nativeWalls as table } from "../nativeWalls.mjs";
import { catches, net, seed, type Files, type Outcome } from "./net.ts";

const walls = (files: Files): Promise<Outcome> => net(files, "node", "scripts/nativeWalls.mjs");
const at = (path: string): string => `native/src/${path}`;

/** Headers to include, so that a seed names a file that is there. */
const headers: Files = Object.fromEntries(
  ["core", "core/formats", "cpu", "cpu/kernels", "mlx", "coreml", "binding", "cpu/binding", "mlx/binding"].map(
    (folder) => [at(`${folder}/x.h`), "#pragma once\n"],
  ),
);

describe("native walls", () => {
  it("passes the includes that are drawn", async () => {
    const clean: Files = {
      ...headers,
      [at("core/a.cpp")]: '#include "x.h"\n#include <vector>\n',
      [at("cpu/ops/a.cpp")]: '#include "../kernels/x.h"\n#include "../../core/x.h"\n',
      [at("cpu/kernels/a.h")]: '#include "../../core/formats/x.h"\n#include <immintrin.h>\n',
      [at("mlx/a.cpp")]: '#include "core/x.h"\n#include <mlx/array.h>\n',
      [at("coreml/a.mm")]: "#import <CoreML/CoreML.h>\n",
      [at("binding/a.h")]: '#include <napi.h>\n#include "../core/x.h"\n',
      [at("mlx/binding/a.cpp")]: '#include <napi.h>\n#include "../../binding/x.h"\n#include "../x.h"\n',
      [at("mlx/comment.h")]: '// #include "../cpu/x.h"\n',
    };
    expect(await walls(clean)).toEqual({ code: 0, output: "" });
  });

  const refused = "must not include";
  catches(
    walls,
    [
      seed("core to an engine", at("core/up.cpp"), '#include "../cpu/x.h"\n', refused),
      seed("core to the binding", at("core/node.cpp"), '#include "../binding/x.h"\n', refused),
      seed("MLX to the CPU engine", at("mlx/a.cpp"), '#include "../cpu/x.h"\n', refused),
      seed("MLX to the kernels", at("mlx/b.cpp"), '#include "cpu/kernels/x.h"\n', refused),
      seed("the CPU engine to MLX", at("cpu/a.cpp"), '#include "../mlx/x.h"\n', refused),
      seed("Core ML to MLX", at("coreml/a.mm"), '#import "../mlx/x.h"\n', refused),
      seed("kernels to the engine", at("cpu/kernels/a.cpp"), '#include "../x.h"\n', refused),
      seed("kernels to the rest of core", at("cpu/kernels/b.cpp"), '#include "../../core/x.h"\n', refused),
      seed("an engine to its binding", at("cpu/b.cpp"), '#include "binding/x.h"\n', refused),
      seed("an engine to the binding", at("mlx/c.cpp"), '#include "../binding/x.h"\n', refused),
      seed("the shared binding to an engine", at("binding/a.h"), '#include "../cpu/x.h"\n', refused),
      seed("one binding to another", at("cpu/binding/a.cpp"), '#include "../../mlx/binding/x.h"\n', refused),
      seed("one binding to another engine", at("cpu/binding/b.cpp"), '#include "../../mlx/x.h"\n', refused),
      seed("angle brackets", at("mlx/d.cpp"), "#include <cpu/x.h>\n", refused),
      seed("Node in an engine", at("cpu/c.cpp"), "#include <napi.h>\n", "only binding folders may"),
      seed("Node's C interface", at("core/c.h"), "  #  include <node_api.h>\n", "only binding folders may"),
      seed("a way out of native/src", at("cpu/d.cpp"), '#include "../../tests/x.h"\n', "outside native/src"),
      seed("a new folder", at("webgpu/a.cpp"), "\n", "a new folder needs a row"),
    ],
    headers,
  );

  it("has a row for every engine and its binding", () => {
    const folders = table.map(({ folder }) => folder);
    expect(folders).toEqual(expect.arrayContaining(["core", "cpu", "mlx", "coreml", "binding"]));
    expect(folders).toEqual(expect.arrayContaining(["cpu/binding", "mlx/binding", "coreml/binding"]));
  });
});
