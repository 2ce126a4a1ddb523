"""Prints main/tokenizer/unicodeTables.ts: which code points are letters, numbers, punctuation, marks, symbols, controls.

The classes are those of Unicode 15.1 as llama.cpp has them, asked from its library one code point at a time, so that
text is split the same way whatever Unicode version the JavaScript engine has.
"""

import ctypes as c

import llama

CLASSES = {"letter": 0x04, "number": 0x02, "punctuation": 0x20, "mark": 0x10, "symbol": 0x40, "control": 0x80}


def ranges(flags, bit):
    """First code point and length of each run, both as differences: start minus the end of the run before."""
    out, last, at = [], 0, 0
    while at < len(flags):
        if not flags[at] & bit:
            at += 1
            continue
        end = at
        while end < len(flags) and flags[end] & bit:
            end += 1
        out += [at - last, end - at]
        last = at = end
    return out


def base36(number):
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if number == 0:
            return digits


def main():
    ask = llama.load_library()["_Z26unicode_cpt_flags_from_cptj"]
    ask.restype, ask.argtypes = c.c_uint16, [c.c_uint32]
    flags = [ask(point) for point in range(0x110000)]
    print("/**")
    print(" * Made by python/unicode_classes.py. Runs of code points per class (Unicode 15.1): gap before the run and its")
    print(" * length, in base 36.")
    print(" */")
    print("// prettier-ignore")
    print("export const UNICODE_RUNS = {")
    for name, bit in CLASSES.items():
        words, lines, line = [base36(n) for n in ranges(flags, bit)], [], ""
        for word in words:
            if len(line) + len(word) > 110:
                lines.append(line)
                line = ""
            line += word + " "
        lines.append(line)
        print(f"  {name}:")
        print(" +\n".join(f'    "{text}"' for text in lines) + ",")
    print("} as const;")


if __name__ == "__main__":
    main()
