/** A recorded prompt sent again, changed or to another model; a kernel in the reply is judged on request. */
import { Alert, Anchor, Autocomplete, Button, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { lazy, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { data } from "../api";
import { getEvaluation, getSpec, getStep, me, replayCall, submitEvaluation, type ModelCall, type PlaygroundReply } from "../client";
import { count, dollars, micros, ratio, seconds } from "../format";
import { Later } from "../parts/Later";
import { FINAL, GainPill, StatusPill } from "../parts/Pills";
import { Section } from "../parts/Section";
import { Asked, Empty, Failure } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const Diff = lazy(() => import("../parts/Diff"));

export function Component() {
  const { jobId = "" } = useParams();
  const [params] = useSearchParams();
  useTitle("Playground");
  const [round, number] = [Number(params.get("round") ?? 1), Number(params.get("call") ?? 1)];
  const known = Number.isInteger(round) && Number.isInteger(number) && round > 0 && number > 0;
  const step = useQuery({
    queryKey: ["job", jobId, "step", round - 1],
    queryFn: () => data(getStep({ path: { job_id: jobId, index: round - 1 } })),
    staleTime: Infinity,
    enabled: known,
  });
  return (
    <Stack gap="md">
      <Text size="sm">
        <Anchor component={Link} to={`/jobs/${jobId}/trace?step=${round}`} underline="always">
          Trace, round {round}
        </Anchor>
      </Text>
      <Title order={1} size="h2">
        Playground
      </Title>
      {known ? (
        <Asked query={step} what="round">
          {({ step: recorded }) => {
            const call = recorded.calls[number - 1];
            return call ? <Prompt key={`${round} ${number}`} jobId={jobId} index={round - 1} number={number - 1} call={call} /> : <Empty title={`Round ${round} has no call ${number}`} />;
          }}
        </Asked>
      ) : (
        <Empty title="No such call" />
      )}
    </Stack>
  );
}

interface Props {
  jobId: string;
  index: number;
  number: number;
  call: ModelCall;
}

/** Models whose replies do not come from a prompt's text. */
const OFFLINE = new Set(["playbook", "manual"]);

function Prompt({ jobId, index, number, call }: Props) {
  const [messages, setMessages] = useState(call.prompt.map(({ role, content }) => ({ role, content })));
  const [model, setModel] = useState(OFFLINE.has(call.model) ? "" : call.model);
  const installation = useQuery({ queryKey: ["me"], queryFn: () => data(me()), staleTime: 60_000 });
  const changed = messages.some((one, at) => one.content !== call.prompt[at]?.content);
  const send = useMutation({
    mutationFn: () => data(replayCall({ path: { job_id: jobId, index, number }, body: { model, messages: changed ? messages : undefined } })),
  });
  const edit = (at: number, content: string): void => setMessages((before) => before.map((one, place) => (place === at ? { ...one, content } : one)));
  return (
    <Stack gap="xl">
      <Text size="sm" maw={760}>
        {call.role} of round {index + 1}. What is sent here costs what the model costs; the job's record and budget stay as they are.
      </Text>
      <Section
        title="Prompt"
        aside={
          changed && (
            <Button size="compact-xs" variant="default" onClick={() => setMessages(call.prompt.map(({ role, content }) => ({ role, content })))}>
              Restore the recorded prompt
            </Button>
          )
        }
      >
        <Stack gap="sm">
          {messages.map((message, at) => (
            <Textarea
              key={at}
              label={message.role}
              value={message.content}
              onChange={(event) => edit(at, event.currentTarget.value)}
              autosize
              minRows={3}
              maxRows={at === messages.length - 1 ? 24 : 8}
              styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
            />
          ))}
          <Group align="end">
            <Autocomplete
              label="Model"
              description={OFFLINE.has(call.model) ? `Recorded with ${call.model}, which does not answer prompts` : undefined}
              placeholder="openai:<model>"
              data={(installation.data?.models ?? []).filter((name) => !OFFLINE.has(name))}
              value={model}
              onChange={setModel}
              style={{ flex: "1 1 260px" }}
              maw={420}
            />
            <Button onClick={() => send.mutate()} loading={send.isPending} disabled={model.trim() === "" || messages.every((one) => one.content.trim() === "")}>
              Send
            </Button>
          </Group>
          {send.error && <Failure error={send.error} what="reply" />}
        </Stack>
      </Section>
      {send.data && <Reply jobId={jobId} call={call} reply={send.data} />}
    </Stack>
  );
}

function Reply({ jobId, call, reply }: { jobId: string; call: ModelCall; reply: PlaygroundReply }) {
  return (
    <Section
      title="Reply"
      aside={
        <Text size="sm" className="quiet">
          {reply.model} · {count(reply.usage.input_tokens)} in, {count(reply.usage.output_tokens)} out · {dollars(reply.usage.dollars)} · {seconds(reply.seconds)}
        </Text>
      }
    >
      <Stack gap="sm">
        {reply.fault && (
          <Alert color="orange" variant="outline" title="A job could not have used this reply" className="break">
            {reply.fault}
          </Alert>
        )}
        {reply.stop_reason !== "stop" && <Text size="sm">The reply ended early: {reply.stop_reason}.</Text>}
        {reply.text === call.reply ? (
          <Text>The same reply as recorded.</Text>
        ) : (
          <Later height={320}>
            <Diff before={readable(call.reply)} after={readable(reply.text)} label="Recorded and new reply" split={window.innerWidth > 1100} />
          </Later>
        )}
        {reply.source && <Judged key={reply.source} jobId={jobId} source={reply.source} />}
      </Stack>
    </Section>
  );
}

function Judged({ jobId, source }: { jobId: string; source: string }) {
  const judge = useMutation({
    mutationFn: async () => {
      const { problem, backend, device, baselines } = await data(getSpec({ path: { job_id: jobId } }));
      const { name, path, source: text, allow_library } = problem;
      return data(submitEvaluation({ body: { problem: { name, path, source: text, allow_library }, backend, device, baselines, candidate: source, tags: ["playground"] } }));
    },
  });
  const evaluation = useQuery({
    queryKey: ["evaluation", judge.data?.id],
    queryFn: () => data(getEvaluation({ path: { evaluation_id: judge.data!.id } })),
    enabled: judge.data !== undefined,
    refetchInterval: (query) => (query.state.data && FINAL.has(query.state.data.status) ? false : 1_500),
  });
  const found = evaluation.data;
  return (
    <Group gap="sm">
      <Button variant="default" onClick={() => judge.mutate()} loading={judge.isPending} disabled={judge.data !== undefined}>
        Judge this kernel
      </Button>
      {judge.error && <Failure error={judge.error} what="evaluation" />}
      {judge.data && (
        <Group gap="xs" role="status">
          <StatusPill status={found?.status ?? judge.data.status} gain={found?.report?.gain} />
          {found?.report && (
            <>
              <b>{found.report.verdict}</b>
              {found.report.latency && ` ${micros(found.report.latency.median_us)}, ${ratio(found.report.speedup.best_baseline)}`}
              <GainPill gain={found.report.gain} />
            </>
          )}
          <Anchor component={Link} to={`/jobs/${judge.data.id}`} underline="always" size="sm">
            Evaluation
          </Anchor>
        </Group>
      )}
    </Group>
  );
}

/** A JSON reply indented, its texts with real line breaks; anything else as it is. */
function readable(reply: string): string {
  try {
    return JSON.stringify(JSON.parse(reply), null, 2).replaceAll("\\n", "\n");
  } catch {
    return reply;
  }
}
