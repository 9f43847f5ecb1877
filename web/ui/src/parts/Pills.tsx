/** Verdicts and statuses: a mark, a word and a colour that say the same. */
import type { Gain, JobStatus } from "../client";
import { GAINS, KINDS, type Kind } from "../candidates";

export function KindPill({ kind, children }: { kind: Kind; children?: string }) {
  return (
    <span className="pill" style={inks(kind)}>
      <span aria-hidden="true">{KINDS[kind].mark}</span>
      {children ?? KINDS[kind].label}
    </span>
  );
}

/** Faster, within noise or slower than the fastest baseline; nothing where nothing was measured. */
export function GainPill({ gain }: { gain: Gain | null | undefined }) {
  if (!gain) return null;
  const { label, mark, ink } = GAINS[gain];
  return (
    <span className="pill" style={inks(ink)} data-gain={gain}>
      <span aria-hidden="true">{mark}</span>
      {label}
    </span>
  );
}

/** The same as a mark before a figure. */
export function GainMark({ gain }: { gain: Gain | null | undefined }) {
  if (!gain) return null;
  const { label, mark, ink } = GAINS[gain];
  return (
    <span className="gain" style={inks(ink)} title={label} role="img" aria-label={label}>
      {mark}
    </span>
  );
}

/** The colours of a kind, as custom properties. */
export function inks(name: string): React.CSSProperties {
  const ink = name === "stopped" || name === "correct" ? "pending" : name;
  return { "--ink": `var(--${ink}-ink)`, "--fill": `var(--${ink}-fill)` } as React.CSSProperties;
}

const STATUS: Record<JobStatus, { ink: string; mark: string }> = {
  queued: { ink: "pending", mark: "…" },
  validating: { ink: "running", mark: "▸" },
  running: { ink: "running", mark: "▶" },
  paused: { ink: "suspicious", mark: "‖" },
  solved: { ink: "accepted", mark: "✓" },
  no_gain: { ink: "no-gain", mark: "≈" },
  unsolved: { ink: "pending", mark: "–" },
  refused: { ink: "rejected", mark: "✕" },
  failed: { ink: "rejected", mark: "!" },
  cancelled: { ink: "pending", mark: "■" },
};

export const STATUSES = Object.keys(STATUS) as JobStatus[];
export const FINAL = new Set<JobStatus>(["solved", "no_gain", "unsolved", "refused", "failed", "cancelled"]);

/** `gain`: of the job's best kernel; a job that only judged a kernel is solved also where that kernel is slow. */
export function StatusPill({ status, gain }: { status: JobStatus; gain: Gain | null | undefined }) {
  const { ink, mark } = status === "solved" && gain !== "surely" ? { ...STATUS.solved, ink: "pending" } : STATUS[status];
  return (
    <span className="pill" style={inks(ink)} data-status={status}>
      <span aria-hidden="true">{mark}</span>
      {status.replace("_", " ")}
    </span>
  );
}
