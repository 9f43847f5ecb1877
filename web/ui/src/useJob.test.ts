import { expect, test } from "vitest";
import type { JobView } from "./client";
import type { JobEvent } from "./live";
import { applyEnd } from "./useJob";

const job = { id: "job-1", best_candidate_id: "cand-2", status: "running" } as JobView;
const event = (kind: string, data: Record<string, unknown>): JobEvent => ({ job_id: "job-1", seq: 9, kind, data, at: "" });

test("a job's end names the winner, which may have changed since it was asked for", () => {
  expect(applyEnd(job, event("job.finished", { best_candidate_id: "cand-5" }))).toEqual({ ...job, best_candidate_id: "cand-5" });
  expect(applyEnd(job, event("job.finished", { best_candidate_id: null })).best_candidate_id).toBeNull();
});

test("a job stays as it is where nothing is new, or something else was told", () => {
  expect(applyEnd(job, event("job.finished", { best_candidate_id: "cand-2" }))).toBe(job);
  expect(applyEnd(job, event("step.finished", { best_candidate_id: "cand-5" }))).toBe(job);
});
