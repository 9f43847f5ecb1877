/** A new job: the problem, checked as it is typed, and how it is to be solved. */
import { Alert, Anchor, Autocomplete, Button, Checkbox, FileButton, Group, NumberInput, Select, Stack, TagsInput, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { ApiError, data, items } from "../api";
import { getSpec, lint, listJobs, listProblems, me, submitJob, type JobBody, type JobSpec, type JobView, type MeView } from "../client";
import { seconds } from "../format";
import { Section } from "../parts/Section";
import { Asked } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const Code = lazy(() => import("../parts/Code"));
const BASELINES = ["eager", "compile", "compile_max"];

interface Draft {
  source: string;
  name: string;
  allowLibrary: string[];
  objective: string;
  backend: string;
  device: string;
  model: string;
  strategy: string;
  beam: number;
  priority: number;
  baselines: string[];
  tags: string[];
  rounds: number;
  wallS: number | null;
  tokens: number | null;
  dollars: number | null;
  deviceS: number | null;
  seed: number;
  seedCandidate: string;
  guidance: string;
  agents: "full" | "lean";
  verifyFirst: boolean;
  compilerDraft: boolean | null;
}

export function Component() {
  useTitle("Submit");
  const [params] = useSearchParams();
  const from = params.get("from");
  const known = useQuery({ queryKey: ["me"], queryFn: () => data(me()), staleTime: 60_000 });
  const spec = useQuery({
    queryKey: ["job", from, "spec"],
    queryFn: () => data(getSpec({ path: { job_id: from! } })),
    enabled: from !== null,
  });
  return (
    <Stack gap="md">
      <Title order={1} size="h2">
        {from ? "Retry with changes" : "Submit a problem"}
      </Title>
      <Asked query={known}>
        {(installation) =>
          from === null ? (
            <Form key="new" installation={installation} start={freshDraft(installation)} />
          ) : (
            <Asked query={spec}>{(old) => <Form key={from} installation={installation} start={draftOf(old)} />}</Asked>
          )
        }
      </Asked>
    </Stack>
  );
}

function freshDraft(installation: MeView): Draft {
  return {
    source: "",
    name: "",
    allowLibrary: [],
    objective: "",
    backend: installation.backends[0] ?? "cpp",
    device: installation.devices[0] ?? "cpu",
    model: installation.models.includes("playbook") ? "playbook" : (installation.models[0] ?? ""),
    strategy: installation.strategies.includes("greedy") ? "greedy" : (installation.strategies[0] ?? "greedy"),
    beam: 1,
    priority: 0,
    baselines: ["eager", "compile"],
    tags: [],
    rounds: 10,
    wallS: null,
    tokens: null,
    dollars: null,
    deviceS: null,
    seed: 0,
    seedCandidate: "",
    guidance: "",
    agents: "full",
    verifyFirst: false,
    compilerDraft: null,
  };
}

function draftOf(spec: JobSpec): Draft {
  const { problem, budget } = spec;
  return {
    source: problem.source,
    name: problem.name,
    allowLibrary: [...(problem.allow_library ?? [])],
    objective: problem.objective ?? "",
    backend: spec.backend ?? "cpp",
    device: spec.device ?? "cpu",
    model: spec.model ?? "playbook",
    strategy: spec.strategy ?? "greedy",
    beam: spec.beam ?? 1,
    priority: spec.priority ?? 0,
    baselines: [...(spec.baselines ?? [])],
    tags: (spec.tags ?? []).filter((tag) => tag !== "evaluate-only"),
    rounds: budget?.rounds ?? 10,
    wallS: budget?.wall_s ?? null,
    tokens: budget?.tokens ?? null,
    dollars: budget?.dollars ?? null,
    deviceS: budget?.device_s ?? null,
    seed: spec.seed ?? 0,
    seedCandidate: spec.seed_candidate ?? "",
    guidance: spec.guidance ?? "",
    agents: spec.agents ?? "full",
    verifyFirst: spec.verify_first ?? false,
    compilerDraft: spec.compiler_draft ?? null,
  };
}

function bodyOf(draft: Draft): JobBody {
  const name = draft.name.trim() || "problem";
  return {
    problem: { source: draft.source, name, path: `${name}.py`, allow_library: draft.allowLibrary, objective: draft.objective.trim() },
    backend: draft.backend,
    device: draft.device,
    model: draft.model,
    strategy: draft.strategy,
    beam: draft.beam,
    priority: draft.priority,
    baselines: draft.baselines,
    tags: draft.tags,
    budget: { rounds: draft.rounds, wall_s: draft.wallS, tokens: draft.tokens, dollars: draft.dollars, device_s: draft.deviceS },
    seed: draft.seed,
    seed_candidate: draft.seedCandidate.trim() ? draft.seedCandidate : null,
    guidance: draft.guidance.trim(),
    agents: draft.agents,
    verify_first: draft.verifyFirst,
    compiler_draft: draft.compilerDraft,
  };
}

interface Part {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
}

function Form({ installation, start }: { installation: MeView; start: Draft }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  const [sending, setSending] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  // The same key for the same content: pressing twice, or again after a lost answer, makes one job.
  const key = useMemo(() => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`, [draft]);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const check = useCheck(draft);
  const submit = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setSending(true);
    setRefused(null);
    try {
      const job = await data(submitJob({ body: bodyOf(draft), headers: { "Idempotency-Key": key } }));
      void navigate(`/jobs/${job.id}`);
    } catch (error) {
      setRefused(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <div style={{ display: "grid", gap: 24, gridTemplateColumns: "repeat(auto-fit, minmax(min(100%, 480px), 1fr))" }}>
        <Problem draft={draft} set={set} check={check} />
        <Stack gap="xl">
          <Configuration draft={draft} set={set} installation={installation} />
          <Limits draft={draft} set={set} />
          <More draft={draft} set={set} />
          {refused !== null && (
            <Alert color="red" variant="outline" title="Could not submit the job" role="alert" className="break">
              {refused instanceof Error ? refused.message : String(refused)}
              {refused instanceof ApiError && refused.remedy && <div>{refused.remedy}</div>}
            </Alert>
          )}
          <Group>
            <Button type="submit" size="md" loading={sending} disabled={!draft.source.trim()}>
              Submit
            </Button>
            <Estimate draft={draft} />
          </Group>
        </Stack>
      </div>
    </form>
  );
}

type Check = { state: "empty" | "asking" | "good" } | { state: "bad"; error: ApiError } | { state: "unknown"; reason: string };

/** What reading the problem says about it, soon after the last change. */
function useCheck({ source, name, objective }: Draft): Check {
  const [asked] = useDebouncedValue(source, 250);
  const [aim] = useDebouncedValue(objective.trim(), 250);
  const found = useQuery({
    queryKey: ["lint", name, asked, aim],
    queryFn: () => data(lint({ body: { source: asked, name: name || "problem", path: `${name || "problem"}.py`, objective: aim } })),
    enabled: asked.trim() !== "",
    retry: false,
    gcTime: 10_000,
  });
  if (source.trim() === "") return { state: "empty" };
  if (asked !== source || found.isFetching) return { state: "asking" };
  if (found.error instanceof ApiError && found.error.status === 422) return { state: "bad", error: found.error };
  if (found.error) return { state: "unknown", reason: found.error.message };
  return { state: "good" };
}

function Problem({ draft, set, check }: Part & { check: Check }) {
  const examples = useQuery({ queryKey: ["examples"], queryFn: () => items(listProblems()), staleTime: Infinity });
  const upload = async (file: File | null): Promise<void> => {
    if (file) set({ source: await file.text(), name: file.name.replace(/\.py$/, "") });
  };
  const choose = (name: string | null): void => {
    const found = examples.data?.find((one) => one.name === name);
    if (found) set({ source: found.source, name: found.name });
  };
  return (
    <Section title="Problem">
      <Stack gap="sm">
        <Group align="end" gap="sm">
          <TextInput label="Name" placeholder="problem" value={draft.name} onChange={(event) => set({ name: event.currentTarget.value })} maxLength={200} style={{ flex: "1 1 160px" }} />
          {(examples.data?.length ?? 0) > 0 && (
            <Select label="Start from an example" placeholder="Choose" data={examples.data!.map((one) => one.name)} value={null} onChange={choose} searchable style={{ flex: "1 1 180px" }} />
          )}
          <FileButton onChange={(file) => void upload(file)} accept=".py,text/x-python">
            {(props) => (
              <Button variant="default" {...props}>
                Upload file
              </Button>
            )}
          </FileButton>
        </Group>
        <div
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            const file = event.dataTransfer.files[0];
            if (!file) return;
            event.preventDefault();
            void upload(file);
          }}
        >
          <Suspense fallback={<Textarea label="Problem source" autosize minRows={18} value={draft.source} onChange={(event) => set({ source: event.currentTarget.value })} />}>
            <Code
              text={draft.source}
              label="Problem source"
              hint="Paste a PyTorch problem"
              onChange={(source) => set({ source })}
              fault={check.state === "bad" ? check.error.line : null}
              minHeight={360}
            />
          </Suspense>
        </div>
        <Verdict check={check} />
      </Stack>
    </Section>
  );
}

function Verdict({ check }: { check: Check }) {
  if (check.state === "bad") {
    return (
      <Alert color="red" variant="outline" role="status" className="break" data-check="bad">
        {check.error.message}
      </Alert>
    );
  }
  const words = {
    empty: "A module with class Model, get_inputs() and get_init_inputs(): paste it, drop a file, or choose an example. Nothing is executed before you submit.",
    asking: "Checking…",
    good: "✓ No problems found.",
    unknown: `Could not check the problem: ${check.state === "unknown" ? check.reason : ""}`,
  }[check.state];
  return (
    <Text size="sm" role="status" data-check={check.state}>
      {words}
    </Text>
  );
}

/** What each strategy does, in a sentence. */
const STRATEGIES: Record<string, string> = {
  greedy: "Refines the fastest accepted kernel. Best for up to about 30 rounds.",
  islands: "Evolves three populations that exchange their best kernels.",
  map_elites: "Keeps the fastest kernel of each kind. Best for 100 rounds.",
  tree: "Searches a tree of kernels and revisits promising branches.",
  value_driven: "Starts from kernels that memory values. Needs experience with the operator family.",
  world_model: "The Planner keeps a tree of hypotheses. Best with a strong chat model.",
};

function Configuration({ draft, set, installation }: Part & { installation: MeView }) {
  const pick = (name: "backend" | "device" | "strategy", label: string, options: readonly string[]) => (
    <Select label={label} data={[...options]} value={draft[name]} onChange={(value) => value && set({ [name]: value })} allowDeselect={false} style={{ flex: "1 1 150px" }} />
  );
  const outside = !["playbook"].includes(draft.model);
  return (
    <Section title="Configuration">
      <Stack gap="sm">
        <Group gap="sm" align="start">
          {pick("device", "Device", installation.devices)}
          {pick("backend", "Backend", installation.backends)}
          {pick("strategy", "Strategy", installation.strategies)}
        </Group>
        {STRATEGIES[draft.strategy] && (
          <Text size="xs" className="quiet" mt={-6} data-strategy={draft.strategy}>
            {STRATEGIES[draft.strategy]}
          </Text>
        )}
        <Autocomplete
          label="Model"
          description={outside ? "The problem and its kernels are sent to this model's provider." : "Offline: nothing leaves this installation."}
          data={installation.models.map((name) => name.replace("<model>", ""))}
          value={draft.model}
          onChange={(model) => set({ model })}
        />
        <Textarea
          label="Guidance"
          description="What the agents should know about this problem, in your words. They trust it, and every prompt carries it."
          value={draft.guidance}
          onChange={(event) => set({ guidance: event.currentTarget.value })}
          maxLength={4000}
          autosize
          minRows={2}
          maxRows={10}
        />
        <Checkbox.Group label="Baselines" value={draft.baselines} onChange={(baselines) => set({ baselines })}>
          <Group mt={6}>
            {BASELINES.map((name) => (
              <Checkbox key={name} value={name} label={{ eager: "eager", compile: "torch.compile", compile_max: "max-autotune" }[name]} />
            ))}
          </Group>
        </Checkbox.Group>
      </Stack>
    </Section>
  );
}

function Limits({ draft, set }: Part) {
  const limit = (name: "wallS" | "tokens" | "dollars" | "deviceS", label: string) => (
    <NumberInput
      label={label}
      placeholder="no limit"
      min={0}
      value={draft[name] ?? ""}
      onChange={(value) => set({ [name]: typeof value === "number" && value > 0 ? value : null })}
      hideControls
      style={{ flex: "1 1 96px" }}
    />
  );
  return (
    <Section title="Budget">
      <Group gap="sm" align="end">
        <NumberInput label="Rounds" min={1} max={1000} value={draft.rounds} onChange={(value) => typeof value === "number" && set({ rounds: Math.round(value) })} style={{ flex: "1 1 96px" }} />
        {limit("wallS", "Time (s)")}
        {limit("deviceS", "Device (s)")}
        {limit("tokens", "Tokens")}
        {limit("dollars", "Dollars")}
      </Group>
    </Section>
  );
}

function More({ draft, set }: Part) {
  const [open, setOpen] = useState(draft.seedCandidate !== "" || draft.agents !== "full" || draft.verifyFirst || draft.compilerDraft === false || draft.beam !== 1 || draft.priority !== 0 || draft.allowLibrary.length > 0 || draft.objective !== "" || draft.tags.length > 0);
  if (!open) {
    return (
      <Anchor component="button" type="button" onClick={() => setOpen(true)} underline="always" size="sm" ta="left">
        Advanced options
      </Anchor>
    );
  }
  return (
    <Section title="Advanced options">
      <Stack gap="sm">
        <TagsInput label="Tags" value={draft.tags} onChange={(tags) => set({ tags })} maxTags={32} />
        <TagsInput label="Allowed library operators" description="Operators the kernel may call, for example matmul" value={draft.allowLibrary} onChange={(allowLibrary) => set({ allowLibrary })} />
        <TextInput
          label="Objective"
          description="Over input sets: geometric_mean, geometric_mean:NAME=WEIGHT,…, worst, or set:NAME. Empty: the problem’s own."
          maxLength={4000}
          value={draft.objective}
          onChange={(event) => set({ objective: event.currentTarget.value })}
        />
        <NumberInput
          label="Beam"
          description="Candidates created in parallel per step; each counts as one round."
          min={1}
          max={16}
          value={draft.beam}
          onChange={(value) => typeof value === "number" && set({ beam: Math.round(value) })}
        />
        <NumberInput
          label="Priority"
          description="Jobs of your team with a higher priority run first."
          min={-100}
          max={100}
          value={draft.priority}
          onChange={(value) => typeof value === "number" && set({ priority: Math.round(value) })}
        />
        <Select
          label="Calls a round"
          description="Lean: one call diagnoses and plans, one writes. Full: three or four."
          data={["full", "lean"]}
          value={draft.agents}
          onChange={(value) => value && set({ agents: value as Draft["agents"] })}
          allowDeselect={false}
        />
        <Checkbox
          label="Second opinion before a candidate runs"
          checked={draft.verifyFirst}
          onChange={(event) => set({ verifyFirst: event.currentTarget.checked })}
        />
        <Checkbox
          label="Start from the compiler's own kernel"
          description="As the server is set, until you choose."
          checked={draft.compilerDraft ?? false}
          indeterminate={draft.compilerDraft === null}
          onChange={(event) => set({ compilerDraft: event.currentTarget.checked })}
        />
        <NumberInput label="Random seed" min={0} value={draft.seed} onChange={(value) => typeof value === "number" && set({ seed: Math.round(value) })} />
        <Textarea
          label="Seed kernel"
          description="A module that defines ModelNew; the job verifies it, then improves it"
          value={draft.seedCandidate}
          onChange={(event) => set({ seedCandidate: event.currentTarget.value })}
          autosize
          minRows={3}
          maxRows={14}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13 } }}
        />
      </Stack>
    </Section>
  );
}

function Estimate({ draft }: { draft: Draft }) {
  const earlier = useQuery({ queryKey: ["jobs", "estimate"], queryFn: () => data(listJobs({ query: { limit: 100 } })), staleTime: 60_000 });
  const [typical, seen] = estimate(earlier.data?.items, draft);
  if (typical === null) return null;
  const limited = draft.wallS !== null && draft.wallS < typical ? draft.wallS : typical;
  return (
    <Text size="sm" className="quiet">
      About {seconds(limited)}, based on {seen === 1 ? "an earlier job" : `${seen} earlier jobs`} with this model and device.
    </Text>
  );
}

/** The median seconds a round of comparable jobs took, times the rounds asked for. */
function estimate(jobs: JobView[] | undefined, draft: Draft): [number | null, number] {
  const alike = (jobs ?? []).filter(
    (job) => job.finished_at && job.started_at && job.steps_done > 0 && job.model === draft.model && job.device === draft.device && job.backend === draft.backend,
  );
  const perRound = alike
    .map((job) => (Date.parse(job.finished_at!) - Date.parse(job.started_at!)) / 1000 / job.steps_done)
    .sort((a, b) => a - b);
  const middle = perRound[Math.floor(perRound.length / 2)];
  return [middle === undefined ? null : middle * draft.rounds, alike.length];
}
