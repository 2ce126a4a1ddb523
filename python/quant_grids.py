"""Writes the tables of ggml's IQ types, packed: main/quant/grids.ts and native/src/core/formats/grids.h.

An entry of a table is 8 values of 2 bits or 4 values of 4 bits, lowest first: 16 bits in both cases. A code stands for
a value of the list beside it. The data is that of the gguf package (from ggml, see NOTICE); grids.test.ts checks its hashes.
"""

from pathlib import Path

from gguf import quants

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")
NOTE = "Made by python/quant_grids.py from the tables of ggml's IQ types."


def words(table):
    """The packed entries, and the value of each code."""
    kind = getattr(quants, table)
    raw = bytes.fromhex(kind.grid_hex.decode())
    entries = [raw[at] | raw[at + 1] << 8 for at in range(0, len(raw), 2)]
    assert len(entries) == kind.grid_shape[0], table
    return entries, [int(value) for value in kind.grid_map]


def lines(parts, width, join):
    rows, row = [], ""
    for part in parts:
        if row and len(row) + len(join) + len(part) > width:
            rows.append(row)
            row = ""
        row += (join if row else "") + part
    return [*rows, row]


def typescript():
    yield "/**"
    yield f" * {NOTE} An entry is four hexadecimal"
    yield " * digits: 8 codes of 2 bits or 4 codes of 4 bits, lowest first; `values` are what the codes stand"
    yield " * for."
    yield " */"
    yield "// prettier-ignore"
    yield "export const GRIDS = {"
    for table in TABLES:
        entries, values = words(table)
        yield f"  {table.lower()}: {{"
        yield f"    values: [{', '.join(map(str, values))}],"
        yield "    entries:"
        rows = lines([f"{entry:04x}" for entry in entries], 104, "")
        yield " +\n".join(f'      "{row}"' for row in rows) + ","
        yield "  },"
    yield "} as const;"


def cpp():
    yield f"// {NOTE} An entry is 8 codes of 2 bits"
    yield "// or 4 codes of 4 bits, lowest first; grid.h says what the codes stand for."
    yield "#pragma once"
    yield ""
    yield "#include <cstdint>"
    yield ""
    yield "namespace rlx::formats::grids {"
    yield ""
    yield "// clang-format off"
    for table in TABLES:
        entries, values = words(table)
        name = "k" + "".join(part.capitalize() for part in table.split("_"))
        yield f"inline constexpr int8_t {name}Values[] = {{{', '.join(map(str, values))}}};"
        yield f"inline constexpr uint16_t {name}[{len(entries)}] = {{"
        yield ",\n".join("    " + row for row in lines([hex(entry) for entry in entries], 110, ",")) + "};"
    yield "// clang-format on"
    yield ""
    yield "}  // namespace rlx::formats::grids"


def main():
    for path, made in (("main/quant/grids.ts", typescript()), ("native/src/core/formats/grids.h", cpp())):
        (ROOT / path).write_text("\n".join(made) + "\n")


if __name__ == "__main__":
    main()
