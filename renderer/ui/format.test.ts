import { describe, expect, it } from "vitest";
import type { Figure } from "../../main/contract/views/common.ts";
import {
  bytes,
  count,
  errorShare,
  figureText,
  fineShare,
  intervalText,
  parameters,
  plural,
  quantity,
  rangeText,
  seconds,
  share,
  signed,
  significant,
  spreadText,
  THIN,
} from "./format.ts";

const plain = (text: string): string => text.replaceAll(THIN, " ").replaceAll("−", "-");
const figure = (part: Partial<Figure>): Figure => ({
  value: 0,
  low: null,
  high: null,
  unit: "count",
  truth: "exact",
  basis: "",
  ...part,
});

describe("numbers", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [2048, "2048"],
    [151_936, "151 936"],
    [1_000_000, "1 000 000"],
    [-56_000, "-56 000"],
  ])("counts %s as %s", (value, text) => expect(plain(count(value))).toBe(text));

  it.each([
    [0.062, "0.0620"],
    [7.413, "7.41"],
    [31.44, "31.4"],
    [412.3, "412"],
    [4120, "4120"],
    [-0.6, "-0.600"],
    [Number.NaN, "–"],
  ])("keeps three digits of %s: %s", (value, text) => expect(plain(significant(value))).toBe(text));

  it.each([
    [0, "0 B"],
    [12, "12 B"],
    [12_345, "12.3 KB"],
    [999_600, "1 MB"],
    [395_000_000, "395 MB"],
    [20_401_094_656, "20.4 GB"],
    [1.2e12, "1.2 TB"],
    [24e9, "24 GB"],
  ])("writes %s bytes as %s", (value, text) => expect(plain(bytes(value))).toBe(text));

  it("writes parameters as people say them", () => {
    expect(plain(parameters(595_776_512))).toBe("596 M");
    expect(plain(parameters(1_235_814_400))).toBe("1.24 B");
    expect(plain(parameters(812))).toBe("812");
  });

  it.each([
    [0, "0 s"],
    [0.000_042, "42.0 µs"],
    [0.0314, "31.4 ms"],
    [1.5, "1.50 s"],
    [130, "2 min 10 s"],
    [11_880, "3 h 18 min"],
  ])("writes %s seconds as %s", (value, text) => expect(plain(seconds(value))).toBe(text));

  it.each([
    [0, "0 %"],
    [0.004, "< 1 %"],
    [0.88, "88 %"],
    [0.997, "> 99 %"],
    [1, "100 %"],
  ])("never rounds the share %s to a false zero or whole: %s", (value, text) => expect(plain(share(value))).toBe(text));

  it("compares small shares with a decimal", () => {
    expect([0.031, 0.0951, 0.0996, 0.31, 0.0004].map((value) => plain(fineShare(value)))).toEqual([
      "3.1 %",
      "9.5 %",
      "10 %",
      "31 %",
      "< 1 %",
    ]);
  });

  it("writes changes with a sign and nouns in the right number", () => {
    expect(plain(signed(-56))).toBe("-56");
    expect(signed(12)).toBe("+12");
    expect(plural(1, "hop")).toBe("1 hop");
    expect(plural(5, "hop")).toBe("5 hops");
  });
});

describe("figures", () => {
  it("marks what was not measured with ~", () => {
    expect(plain(figureText(figure({ value: 0.004, unit: "share", truth: "predicted" })))).toBe("< 1 %");
    expect(plain(figureText(figure({ value: 0, unit: "bytes", truth: "predicted" })))).toBe("0 B");
    expect(plain(figureText(figure({ value: 0.000_062, unit: "seconds", truth: "predicted" })))).toBe("~62.0 µs");
    expect(plain(figureText(figure({ value: 0.031, unit: "seconds", truth: "measured" })))).toBe("31.0 ms");
  });

  it("shows a prediction as its range, with the unit once where it is the same", () => {
    const speed = figure({ value: 125, low: 110, high: 140, unit: "tokens/s", truth: "predicted" });
    expect(plain(rangeText(speed))).toBe("110–140 t/s");
    const time = figure({ value: 1, low: 0.4, high: 1.6, unit: "seconds", truth: "predicted" });
    expect(plain(rangeText(time))).toBe("400 ms – 1.60 s");
    expect(plain(rangeText(figure({ value: 5, low: 4, high: 6, unit: "count", truth: "predicted" })))).toBe("4–6");
  });

  it("shows an interval without spaces, with as many digits as asked for", () => {
    expect(intervalText(0.6244, 1.949)).toBe("0.624–1.95");
    expect(plain(intervalText(251.94, 12345, 4))).toBe("251.9–12 350");
  });

  it("shows a measurement with half its interval", () => {
    const speed = figure({ value: 31.4, low: 31.1, high: 31.7, unit: "tokens/s", truth: "measured" });
    expect(plain(rangeText(speed))).toBe("31.4 t/s");
    expect(plain(spreadText(speed))).toBe("± 0.30");
    expect(plain(spreadText({ ...speed, value: 6580, low: 3044, high: 18_770 }))).toBe("3040–18 800");
  });

  it("knows every unit", () => {
    expect(plain(quantity(2.5e12, "flops"))).toBe("2.5 TFLOP");
    expect(plain(quantity(60e9, "bytes/s"))).toBe("60 GB/s");
    expect(plain(quantity(4.6, "bits"))).toBe("4.60 bits");
    expect(quantity(1.19, "ratio")).toBe("1.19");
  });

  it("writes small errors as what they are", () => {
    expect(plain(errorShare(0))).toBe("exact");
    expect(plain(errorShare(0.000213))).toBe("0.021 %");
    expect(plain(errorShare(1e-9))).toBe("< 0.0001 %");
  });
});
