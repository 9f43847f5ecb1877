/** Events told as a story: what each step's agents did, what the referee said, what came of it. */
import type { JobEvent } from "./live";

export interface AgentTurn {
  agent: string;
  summary: string | null;
  tokens: number | null;
  seconds: number | null;
  done: boolean;
}

export interface StepStory {
  step: number;
  stage: string;
  turns: AgentTurn[];
  candidateId: string | null;
  evaluating: boolean;
  verdict: string | null;
  failedGate: string | null;
  detail: string | null;
  medianUs: number | null;
  speedup: number | null;
  /** As in reports: `surely` faster than the fastest baseline, `within_noise`, `none`. */
  gain: string | null;
  failure: string | null;
  reward: number | null;
  done: boolean;
  startedAt: string;
  endedAt: string | null;
}

export interface Story {
  steps: StepStory[];
  status: string | null;
  message: string | null;
  validated: Record<string, unknown> | null;
  /** When the job's problem was first run. */
  startedAt: string | null;
  marks: { at: string; text: string }[];
}

export const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
export const number = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** The speedup over the fastest baseline, out of an event's speedup document or bare number. */
export function speedupOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  if (value === null || typeof value !== "object") return null;
  return number((value as Record<string, unknown>).best_baseline);
}

export function tell(events: readonly JobEvent[]): Story {
  const story: Story = { steps: [], status: null, message: null, validated: null, startedAt: null, marks: [] };
  const steps = new Map<number, StepStory>();
  for (const event of events) {
    const step = number(event.data.step);
    if (step === null) tellJob(story, event);
    else tellStep(stepOf(story, steps, step, event), event);
  }
  return story;
}

function tellJob(story: Story, { kind, data, at }: JobEvent): void {
  if (kind === "job.validated") {
    story.validated = data;
    story.marks.push({ at, text: `Reference validated: ${text(data.family) ?? "unknown family"}` });
  }
  if (kind === "job.notice") story.marks.push({ at, text: text(data.message) ?? "" });
  if (kind !== "job.status" && kind !== "job.finished") return;
  story.status = text(data.status) ?? story.status;
  story.message = text(data.message) ?? story.message;
  if (story.status === "validating") story.startedAt ??= at;
  if (kind === "job.status") story.marks.push({ at, text: [text(data.status), text(data.message)].filter(Boolean).join(": ") });
}

function stepOf(story: Story, steps: Map<number, StepStory>, step: number, event: JobEvent): StepStory {
  let found = steps.get(step);
  // An orchestrator that takes a job over starts its unfinished step again: what was half told is told anew.
  if (!found || (event.kind === "step.started" && !found.done)) {
    const fresh = emptyStep(step, event);
    if (found) story.steps[story.steps.indexOf(found)] = fresh;
    else story.steps.push(fresh);
    steps.set(step, fresh);
    found = fresh;
  }
  return found;
}

function emptyStep(step: number, event: JobEvent): StepStory {
  return {
    step,
    stage: text(event.data.stage) ?? "",
    turns: [],
    candidateId: null,
    evaluating: false,
    verdict: null,
    failedGate: null,
    detail: null,
    medianUs: null,
    speedup: null,
    gain: null,
    failure: null,
    reward: null,
    done: false,
    startedAt: event.at,
    endedAt: null,
  };
}

function tellStep(story: StepStory, { kind, data, at }: JobEvent): void {
  switch (kind) {
    case "agent.started":
      story.turns.push({ agent: text(data.agent) ?? "agent", summary: null, tokens: null, seconds: null, done: false });
      break;
    case "agent.finished": {
      const turn = story.turns.findLast((one) => one.agent === data.agent && !one.done);
      const told = { summary: text(data.summary), tokens: number(data.tokens), seconds: number(data.seconds), done: true };
      if (turn) Object.assign(turn, told);
      else story.turns.push({ agent: text(data.agent) ?? "agent", ...told });
      break;
    }
    case "candidate.created":
      story.candidateId = text(data.candidate_id);
      break;
    case "evaluation.started":
      story.evaluating = true;
      break;
    case "evaluation.finished":
      story.evaluating = false;
      story.verdict = text(data.verdict);
      story.failedGate = text(data.failed_gate);
      story.detail = text(data.detail);
      story.medianUs = number(data.median_us);
      story.speedup = speedupOf(data.speedup);
      story.gain = text(data.gain);
      break;
    case "step.finished":
      story.done = true;
      story.endedAt = at;
      story.verdict = text(data.verdict) ?? story.verdict;
      story.reward = number(data.reward);
      story.failure = text(data.failure);
      break;
  }
}
