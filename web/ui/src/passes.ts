/** How calls with a backward pass divide, as people read it. */
import type { Passes, PassTimes } from "./client";
import { micros } from "./format";

export interface Pass {
  text: string;
  interval: string;
}

export interface PassRow {
  name: string;
  forward: Pass;
  backward: Pass;
  both: string;
}

/** The candidate, then every baseline that was measured. */
export function passRows(passes: Passes): PassRow[] {
  const { candidate, ...baselines } = passes;
  const known = Object.entries(baselines).flatMap(([name, times]) => (times ? ([[name, times]] as [string, PassTimes][]) : []));
  return ([["this kernel", candidate], ...known] as [string, PassTimes][]).map(([name, times]) => ({
    name,
    forward: pass(times.forward_us, times.forward_ci95_us),
    backward: pass(times.backward_us, times.backward_ci95_us),
    both: micros(times.both_us),
  }));
}

/** A difference may come out below zero on a busy machine: then its interval says how much it can be. */
function pass(value: number, [low, high]: [number, number]): Pass {
  const ends = [low, high].map((end) => micros(Math.max(0, end)));
  return { text: value > 0 ? micros(value) : `at most ${ends[1]}`, interval: ends.join(" – ") };
}
