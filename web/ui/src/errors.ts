/** Errors of outputs as people read them; the command line says the same. */
import type { OutputError } from "./client";
import { NOTHING } from "./format";

/** A share of an allowance: `2.3 %`, `under 0.1 %`, `over 1000 %`. */
export function allowance(share: number | null): string {
  if (share === null) return "not finite";
  const percent = 100 * share;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return "under 0.1 %";
  if (percent > 1000) return "over 1000 %";
  return `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** The worst element's error in units in the last place. */
export function units(error: OutputError): string {
  if (error.max_abs === 0) return "0";
  const ulp = error.worst?.ulp ?? null;
  if (ulp === null) return NOTHING;
  return ulp < 100_000 ? String(ulp) : ulp.toExponential(1);
}

/** An error to two significant digits. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (value === 0) return "0";
  return value < 0.001 || value >= 10_000 ? value.toExponential(1) : value.toPrecision(2);
}

/** The draw, with the tensor's name where a call has several. */
export const valuesOf = (error: OutputError): string => (error.tensor === "output" ? error.draw : `${error.draw}, ${error.tensor}`);

/** What an allowance was of. */
export const CHECKS: Record<string, string> = {
  element: "one element against its tolerance",
  whole: "relative error of the whole output, against a multiple of the reference's own against float64",
  row: "relative error of the worst row",
  column: "relative error of the worst column",
  block: "relative error of the worst 64 neighbours",
  magnitude: "elements of like magnitude together",
  steps: "share of whole numbers that are one step off",
  finite: "NaN or infinities where they do not belong",
};
