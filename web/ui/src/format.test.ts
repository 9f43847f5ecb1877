import { expect, test } from "vitest";
import { percent, signed } from "./format";

test("a small share is not shown as nothing", () => {
  expect([0, 0.0047, 0.00002, 0.05, 0.0838, 0.0996, 0.836, 1.6, null].map(percent)).toEqual(["0 %", "0.47 %", "0.002 %", "5 %", "8.4 %", "10 %", "84 %", "160 %", "–"]);
});

test("a negative figure has a minus sign, and nothing has no sign", () => {
  expect([0.42, -0.42, 0, null].map((one) => signed(one))).toEqual(["+0.42", "−0.42", "0.00", "–"]);
});
