/** Whether the ratios on a page follow from the medians beside them, and the reason where they do not. */
import type { CandidateSummary, Speedup } from "./client";
import { ratio } from "./format";

export const NAMES: Record<string, string> = { eager: "eager", compile: "torch.compile", compile_max: "max-autotune" };
type Baseline = "eager" | "compile" | "compile_max";
const BASELINES: readonly Baseline[] = ["eager", "compile", "compile_max"];
/** Medians are shown with three digits: ratios of what is shown may be off by so much. */
const ROUNDING = 0.01;

export type Measured = Pick<CandidateSummary, "median_us" | "baselines_us" | "speedup">;

/** What the two medians alone give; null where one is missing. */
export function ofMedians({ median_us, baselines_us }: Measured, name: Baseline): number | null {
  const baseline = baselines_us?.[name];
  return baseline && median_us ? baseline / median_us : null;
}

/** The baseline that the kernel was timed in turns with. */
export function rivalOf(speedup: Speedup | null | undefined): Baseline | null {
  if (!speedup?.best_baseline) return null;
  return BASELINES.find((name) => speedup[name] === speedup.best_baseline) ?? null;
}

/** Bounds of the ratio over a baseline: measured for the one in the pair only. */
export function boundsOf(speedup: Speedup | null | undefined, baseline: Baseline | "best_baseline"): [number, number] | null {
  if (!speedup?.ci95) return null;
  return baseline === "best_baseline" || speedup[baseline] === speedup.best_baseline ? (speedup.ci95 as [number, number]) : null;
}

/** Baselines whose shown ratio is not that of the shown medians, with what those give. */
export function differing(measured: Measured): [Baseline, number][] {
  return BASELINES.flatMap((name): [Baseline, number][] => {
    const [shown, plain] = [measured.speedup?.[name], ofMedians(measured, name)];
    return shown && plain && Math.abs(plain / shown - 1) > ROUNDING ? [[name, plain]] : [];
  });
}

/** The reason in a sentence; null where every shown ratio is that of the shown medians. */
export function reasonOf(measured: Measured): string | null {
  const found = differing(measured);
  if (found.length === 0) return null;
  const given = found.map(([name, plain]) => `${ratio(plain)} (${NAMES[name]})`).join(" and ");
  return `Speedup is the median over pairs of calls taken in turns with the fastest baseline, which cancels the machine's drift; the medians alone give ${given}.`;
}
