import { describe, expect, it } from "vitest";
import type { OutputError } from "./client";
import { allowance, figure, units, valuesOf } from "./errors";

const error: OutputError = {
  gate: "correctness",
  draw: "tied values",
  tensor: "output",
  dtype: "float32",
  max_abs: 2.4e-6,
  worst: { at: [3, 7], absolute: 2.4e-6, relative: 1e-6, ulp: 5, allowed: 5e-4, share: 0.0048 },
  relative: 1e-6,
  bound: 1e-4,
  share: 0.0104,
  check: "whole",
  comparisons: 1,
};

describe("errors of outputs", () => {
  it("are shares of an allowance", () => {
    expect([0.0104, 0.0004, 0, 1.04, 12, null].map(allowance)).toEqual(["1.0 %", "under 0.1 %", "0 %", "104 %", "over 1000 %", "not finite"]);
  });
  it("count units in the last place where the type has them", () => {
    expect(units(error)).toBe("5");
    expect(units({ ...error, worst: null })).toBe("–");
    expect(units({ ...error, worst: null, max_abs: 0 })).toBe("0");
    expect(units({ ...error, worst: { ...error.worst!, ulp: 1_234_567 } })).toBe("1.2e+6");
  });
  it("have two significant digits", () => {
    expect([2.384e-6, 0, 0.25, 12345, null].map(figure)).toEqual(["2.4e-6", "0", "0.25", "1.2e+4", "–"]);
  });
  it("name the tensor where there are several", () => {
    expect(valuesOf(error)).toBe("tied values");
    expect(valuesOf({ ...error, tensor: "output 1" })).toBe("tied values, output 1");
  });
});
