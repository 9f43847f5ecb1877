import { expect, test } from "vitest";
import type { JobEvent } from "./live";
import { tell } from "./timeline";

let seq = 0;
const event = (kind: string, data: Record<string, unknown>): JobEvent => ({ job_id: "j", seq: ++seq, kind, data, at: "2026-01-01T00:00:00Z" });

const round = [
  event("job.status", { status: "running", message: null }),
  event("step.started", { step: 0, stage: "draft" }),
  event("agent.started", { step: 0, agent: "planner" }),
  event("agent.finished", { step: 0, agent: "planner", summary: "fuse", tokens: 12, seconds: 0.5 }),
  event("agent.started", { step: 0, agent: "coder" }),
  event("candidate.created", { step: 0, candidate_id: "cand-1", parent_id: null, summary: "fused" }),
  event("evaluation.started", { step: 0, candidate_id: "cand-1" }),
];

test("a step that is under way shows who is at work", () => {
  const [step] = tell(round).steps;
  expect(step?.turns.map((turn) => [turn.agent, turn.done])).toEqual([["planner", true], ["coder", false]]);
  expect([step?.evaluating, step?.verdict, step?.done]).toEqual([true, null, false]);
});

test("a step that an orchestrator starts again is told once", () => {
  const story = tell([...round, event("step.started", { step: 0, stage: "draft" }), event("agent.started", { step: 0, agent: "planner" })]);
  expect(story.steps).toHaveLength(1);
  expect(story.steps[0]?.turns).toHaveLength(1);
});

test("the verdict carries its figures", () => {
  const speedup = { best_baseline: 2.5, eager: 3 };
  const story = tell([...round, event("evaluation.finished", { step: 0, candidate_id: "cand-1", verdict: "accepted", failed_gate: null, detail: "", median_us: 10, speedup })]);
  expect([story.steps[0]?.verdict, story.steps[0]?.speedup, story.steps[0]?.medianUs]).toEqual(["accepted", 2.5, 10]);
});
