/** All that a job's page shows, kept up to date by its events. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { data, items, request } from "./api";
import { getCandidate, getCosts, getJob, listCandidates, type CandidateSummary, type JobView } from "./client";
import { LiveJob, type JobEvent, type LiveState } from "./live";
import { speedupOf, text, number } from "./timeline";

export const jobKey = (id: string) => ["job", id] as const;
export const candidatesKey = (id: string) => ["job", id, "candidates"] as const;
export const costsKey = (id: string) => ["job", id, "costs"] as const;

export const useJob = (id: string) => useQuery({ queryKey: jobKey(id), queryFn: () => data(getJob({ path: { job_id: id } })) });

export const useCandidates = (id: string) =>
  useQuery({ queryKey: candidatesKey(id), queryFn: () => items(listCandidates({ path: { job_id: id } })) });

export const useCosts = (id: string) =>
  useQuery({ queryKey: costsKey(id), queryFn: () => data(getCosts({ path: { job_id: id } })) });

export const candidateQuery = (id: string) => ({
  queryKey: ["candidate", id],
  queryFn: () => data(getCandidate({ path: { candidate_id: id } })),
});

/** A candidate with its report; nothing without an id. */
export const useCandidate = (id: string | null | undefined) =>
  useQuery({ ...candidateQuery(id ?? ""), enabled: !!id });

/** The job's events; what they tell is in the job's and the candidates' data at once, and asked for again soon after. */
export function useLiveJob(id: string): LiveState {
  const first = useCandidates(id);
  // The log of a large job is long: what the first view shows is asked for before it.
  const ready = first.data !== undefined || first.error !== null;
  const live = useMemo(() => new LiveJob(id, { request }), [id]);
  const state = useSyncExternalStore(ready ? live.subscribe : later, live.snapshot);
  const queries = useQueryClient();
  const last = state.events.at(-1);
  useEffect(() => {
    if (!last) return;
    queries.setQueryData<CandidateSummary[]>(candidatesKey(id), (known) => known && applyEvents(known, state.events));
    queries.setQueryData<JobView>(jobKey(id), (known) => known && applyEnd(known, last));
  }, [queries, id, last, state.events]);
  useAskAgain(id, state);
  return state;
}

const later = (): (() => void) => () => undefined;

const PAUSE_MS = 300;

/** What an event does not carry (intervals, tuning, costs) is asked for soon after it came: once for many events. */
function useAskAgain(id: string, { events, connection }: LiveState): void {
  const queries = useQueryClient();
  const seen = useRef<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const last = events.at(-1);
  useEffect(() => {
    if (connection === "connecting" || !last) return;
    const known = queries.getQueryData<JobView>(jobKey(id));
    // The first look at the log tells nothing that was not just asked for, unless the job ended in between.
    const news = seen.current === null ? last.kind === "job.finished" && !known?.finished_at : last.seq > seen.current;
    seen.current = last.seq;
    if (!news || timer.current !== null) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      void queries.invalidateQueries({ queryKey: jobKey(id) });
    }, PAUSE_MS);
  }, [queries, id, last, connection]);
  const leave = (): void => {
    if (timer.current === null) return;
    clearTimeout(timer.current);
    // Other pages show the same job, and would take what is known for fresh.
    void queries.invalidateQueries({ queryKey: jobKey(id) });
  };
  useEffect(() => leave, [queries, id]);
}

/** The job with the winner that its end names; the same object where that is nothing new. */
export function applyEnd(known: JobView, { kind, data: told }: JobEvent): JobView {
  const best = text(told.best_candidate_id);
  return kind !== "job.finished" || best === known.best_candidate_id ? known : { ...known, best_candidate_id: best };
}

/** Candidates with what newer events say about them; the same array where that is nothing new. */
export function applyEvents(known: CandidateSummary[], events: readonly JobEvent[]): CandidateSummary[] {
  const rows = new Map(known.map((one) => [one.id, one]));
  let changed = false;
  for (const event of events) {
    const id = text(event.data.candidate_id);
    if (id === null) continue;
    const row = rows.get(id);
    if (event.kind === "candidate.created" && !row) {
      rows.set(id, fresh(id, event));
      changed = true;
    }
    if (event.kind === "evaluation.finished" && row && row.verdict === null) {
      rows.set(id, judged(row, event));
      changed = true;
    }
  }
  return changed ? [...rows.values()] : known;
}

function fresh(id: string, { job_id, data: told, at }: JobEvent): CandidateSummary {
  return {
    id, job_id, step: number(told.step) ?? 0, parent_id: text(told.parent_id), origin: "draft", backend: "",
    summary: text(told.summary) ?? "", created_at: at, verdict: null, failed_gate: null, median_us: null, ci95_us: null,
    speedup: null, gain: null, baselines_us: null, self_attested: null, input_sets: 0, roofline_fraction: null, bottleneck: null, tuned: null, device_s: 0,
  };
}

function judged(row: CandidateSummary, { data: told }: JobEvent): CandidateSummary {
  const best = speedupOf(told.speedup);
  const whole = typeof told.speedup === "object" && told.speedup !== null;
  return {
    ...row,
    verdict: text(told.verdict) as CandidateSummary["verdict"],
    failed_gate: text(told.failed_gate) as CandidateSummary["failed_gate"],
    median_us: number(told.median_us),
    gain: told.verdict === "accepted" ? (text(told.gain) as CandidateSummary["gain"]) : null,
    speedup: whole
      ? (told.speedup as CandidateSummary["speedup"])
      : best === null
        ? null
        : { best_baseline: best, eager: null, compile: null, compile_max: null, ci95: null },
  };
}
