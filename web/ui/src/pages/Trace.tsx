/** Prompts and replies, round by round. */
import { Anchor, Group, Select, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearchParams } from "react-router";
import { data, items } from "../api";
import { getStep, listSteps, type ModelCall, type RecordedStep, type StepDigest } from "../client";
import { count, dollars, seconds, shortened, signed } from "../format";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";
import { useJob } from "../useJob";

export function Component() {
  const { jobId = "" } = useParams();
  const job = useJob(jobId);
  useTitle(`Trace of ${job.data?.problem ?? "a job"}`);
  const steps = useQuery({
    queryKey: ["job", jobId, "steps"],
    queryFn: () => items(listSteps({ path: { job_id: jobId } })),
  });
  const [params, setParams] = useSearchParams();
  return (
    <Stack gap="md">
      <Text size="sm">
        <Anchor component={Link} to={`/jobs/${jobId}`} underline="always" className="break">
          {job.data?.problem ?? jobId}
        </Anchor>
      </Text>
      <Title order={1} size="h2">
        Trace
      </Title>
      <Asked query={steps}>
        {(all) => {
          if (all.length === 0) return <Empty title="No recorded rounds" />;
          const asked = Number(params.get("step") ?? all.at(-1)!.index + 1) - 1;
          const step = all.find((one) => one.index === asked) ?? all.at(-1)!;
          return (
            <>
              <Select
                label="Round"
                data={all.map((one) => ({ value: String(one.index), label: nameOf(one) }))}
                value={String(step.index)}
                onChange={(value) => value && setParams({ step: String(Number(value) + 1) }, { replace: true })}
                allowDeselect={false}
                searchable
                maw={560}
              />
              <Recorded jobId={jobId} digest={step} />
            </>
          );
        }}
      </Asked>
    </Stack>
  );
}

const nameOf = (step: StepDigest): string => shortened(`${step.index + 1}: ${step.stage}, ${step.verdict ?? step.failure ?? "no candidate"}`, 120);

function Recorded({ jobId, digest }: { jobId: string; digest: StepDigest }) {
  const step = useQuery({
    queryKey: ["job", jobId, "step", digest.index],
    queryFn: () => data(getStep({ path: { job_id: jobId, index: digest.index } })),
    staleTime: Infinity,
  });
  return (
    <Asked query={step}>
      {(recorded) => (
        <Stack gap="xl">
          <Facts digest={digest} />
          {recorded.step.calls.length === 0 ? (
            <Text>No model calls in this round: an existing kernel was measured.</Text>
          ) : (
            <Section title={`Experiences in context (${recorded.uses.length})`}>
              <Uses uses={recorded.uses} />
            </Section>
          )}
          {recorded.step.calls.map((call, index) => (
            <Call key={index} jobId={jobId} round={digest.index + 1} call={call} number={index + 1} />
          ))}
          {recorded.step.critique && (
            <Section title="Critique for the next round">
              <pre className="plain" tabIndex={0} aria-label="Critique">
                {recorded.step.critique}
              </pre>
            </Section>
          )}
        </Stack>
      )}
    </Asked>
  );
}

function Facts({ digest }: { digest: StepDigest }) {
  return (
    <Stack gap={4}>
      {digest.hypothesis && <Text className="break">{digest.hypothesis}</Text>}
      <Group gap="md">
        {digest.candidate_id && (
          <Anchor component={Link} to={`/candidates/${digest.candidate_id}`} underline="always" size="sm">
            Kernel
          </Anchor>
        )}
        {digest.start_point && (
          <Anchor component={Link} to={`/candidates/${digest.start_point}`} underline="always" size="sm">
            Starting point
          </Anchor>
        )}
        <Text size="sm">reward {signed(digest.reward)}</Text>
      </Group>
      {digest.failure && <Text className="break">{digest.failure}</Text>}
    </Stack>
  );
}

function Uses({ uses }: { uses: RecordedStep["uses"] }) {
  if (uses.length === 0) return <Empty title="No experiences">Some steps run without memory so that its effect can be measured.</Empty>;
  return (
    <Rows label="Experiences used">
      <thead>
        <tr>
          <th>Experience</th>
          <th>Kind</th>
          <th className="figure">Value then</th>
          <th className="figure">Similarity</th>
        </tr>
      </thead>
      <tbody>
        {uses.map((use) => (
          <tr key={use.experience_id}>
            <td className="break">
              <Anchor component={Link} to={`/memory/${use.experience_id}`} data-row size="sm" underline="always">
                {use.title ?? use.experience_id}
              </Anchor>
            </td>
            <td>{use.kind?.replace("_", " ") ?? "deleted"}</td>
            <td className="figure">{use.value === null ? "–" : signed(use.value)}</td>
            <td className="figure">{use.similarity?.toFixed(2) ?? "–"}</td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}

function Call({ jobId, round, call, number }: { jobId: string; round: number; call: ModelCall; number: number }) {
  const { usage } = call;
  return (
    <Section
      title={`${number}. ${call.role}`}
      aside={
        <Text size="sm" className="quiet break">
          {call.model} · {count(usage.input_tokens)} in ({count(usage.cached_tokens)} cached), {count(usage.output_tokens)} out · {dollars(usage.dollars)} ·{" "}
          {seconds(call.seconds)} · template {call.prompt_hash.slice(0, 8)}
        </Text>
      }
    >
      <Stack gap="xs">
        {call.prompt.map((message, index) => (
          <details key={index} open={index === call.prompt.length - 1 && message.content.length < 4000}>
            <summary>
              {message.role} <span className="quiet">({count(message.content.length)} characters)</span>
            </summary>
            <pre className="plain" tabIndex={0} aria-label={`Prompt, ${message.role}`}>
              {message.content}
            </pre>
          </details>
        ))}
        <details open>
          <summary>reply</summary>
          <pre className="plain" tabIndex={0} aria-label="Reply">
            {readable(call.reply)}
          </pre>
        </details>
        <Anchor component={Link} to={`/jobs/${jobId}/playground?round=${round}&call=${number}`} size="sm" underline="always">
          Open in playground
        </Anchor>
        {call.error && <Text className="break">Unusable reply: {call.error}</Text>}
      </Stack>
    </Section>
  );
}

/** A JSON reply field by field, its texts as they were meant; anything else as it is. */
function readable(reply: string): string {
  try {
    const found: unknown = JSON.parse(reply);
    if (found === null || typeof found !== "object") return reply;
    return Object.entries(found).map(([name, value]) => `${name}: ${typeof value === "string" ? told(value) : JSON.stringify(value, null, 2)}`).join("\n\n");
  } catch {
    return reply;
  }
}

const told = (text: string): string => (text.includes("\n") ? `\n${text}` : text);
