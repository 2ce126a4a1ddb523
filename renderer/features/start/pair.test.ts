/** Which files can be measured against each other, and which two are. */
import { expect, it } from "vitest";
import { pairFiles, pairOf } from "./pair.ts";

const file = (path: string) => ({ path, name: path.slice(1), variant: "Q8_0", bytes: 7 });

it("lists each file once, without what is gone or damaged", () => {
  const recents = [
    { ...file("/a"), exists: true },
    { ...file("/gone"), exists: false },
  ];
  const found = [
    { ...file("/a"), problem: null },
    { ...file("/b"), problem: null },
    { ...file("/cut"), problem: "damaged" },
  ];
  expect(pairFiles(recents, found)).toEqual([file("/a"), file("/b")]);
});

it("keeps two at most", () => {
  const one = pairOf([], "/a");
  const two = pairOf(one, "/b");
  expect(two).toEqual(["/a", "/b"]);
  expect(pairOf(two, "/c")).toEqual(["/a", "/c"]);
  expect(pairOf(two, "/a")).toEqual(["/b"]);
});
