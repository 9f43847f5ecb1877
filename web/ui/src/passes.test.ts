import { expect, test } from "vitest";
import type { PassTimes } from "./client";
import { passRows } from "./passes";

const times = (forward: number, backward: number): PassTimes => ({
  forward_us: forward,
  forward_ci95_us: [forward * 0.9, forward * 1.1],
  backward_us: backward,
  backward_ci95_us: [backward - 30, backward + 30],
  both_us: forward + backward,
});

test("each measured variant has a row, the kernel first", () => {
  const rows = passRows({ candidate: times(40, 60), eager: times(100, 2500), compile: null, compile_max: null });
  expect(rows.map((row) => row.name)).toEqual(["this kernel", "eager"]);
  expect(rows[0]).toMatchObject({ forward: { text: "40.0 µs", interval: "36.0 µs – 44.0 µs" }, both: "100 µs" });
  expect(rows[1]?.backward.text).toBe("2.50 ms");
});

test("a backward that a busy machine leaves below zero is bounded by its interval", () => {
  const [row] = passRows({ candidate: times(90, -10), eager: null, compile: null, compile_max: null });
  expect(row?.backward).toEqual({ text: "at most 20.0 µs", interval: "0.00 µs – 20.0 µs" });
});
