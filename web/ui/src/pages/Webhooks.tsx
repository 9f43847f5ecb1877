/** Webhooks and their deliveries. */
import { Alert, Anchor, Button, Card, Checkbox, Group, MultiSelect, NumberInput, SimpleGrid, Stack, Switch, TagsInput, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { data, items } from "../api";
import {
  createWebhook,
  listDeliveries,
  listWebhooks,
  me,
  removeWebhook,
  resendDelivery,
  switchWebhook,
  tryWebhook,
  type DeliveryView,
  type EventKind,
  type JobStatus,
  type MeView,
  type NewWebhookView,
  type WebhookView,
} from "../client";
import { ago } from "../format";
import { notify } from "../parts/notify";
import { inks } from "../parts/Pills";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const KINDS: [EventKind, string][] = [
  ["job.finished", "job finished"],
  ["job.status", "status changed"],
  ["job.validated", "problem validated"],
  ["step.finished", "round finished"],
  ["evaluation.finished", "candidate evaluated"],
  ["job.notice", "job degraded"],
];
const nameOf = (kind: string): string => KINDS.find(([known]) => known === kind)?.[1] ?? kind;
const STATES: JobStatus[] = ["queued", "validating", "running", "paused", "solved", "no_gain", "unsolved", "refused", "failed", "cancelled"];
const KEY = ["webhooks"];

export function Component() {
  useTitle("Webhooks");
  const caller = useQuery({ queryKey: ["me"], queryFn: () => data(me()), staleTime: 60_000 });
  return (
    <Asked query={caller} page rows={3}>
      {(known) => (known.scopes.includes("admin") ? <Managed /> : <NotYours caller={known} />)}
    </Asked>
  );
}

function NotYours({ caller }: { caller: MeView }) {
  const why = caller.role === "admin" ? "your token lacks the scope admin" : `your role in team ${caller.team} is ${caller.role}`;
  return (
    <Empty title="Webhooks are for the team's admins" page>
      Only admins can see URLs and deliveries, and {why}. An admin can change this on the{" "}
      <Anchor component={Link} to="/team" underline="always">
        Team page
      </Anchor>
      .
    </Empty>
  );
}

function Managed() {
  const webhooks = useQuery({ queryKey: KEY, queryFn: () => items(listWebhooks()) });
  return (
    <Stack gap="xl">
      <Title order={1} size="h2" mb={-16}>
        Webhooks
      </Title>
      <Text size="sm" maw={760}>
        Signed messages about jobs, sent to your URLs. Failed deliveries are retried for three days with the same message id.
      </Text>
      <Section title="New webhook">
        <NewWebhook />
      </Section>
      <Section title="Webhooks">
        <Asked query={webhooks}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No webhooks yet" />
            ) : (
              <Stack>
                {all.map((one) => (
                  <Known key={one.id} webhook={one} />
                ))}
              </Stack>
            )
          }
        </Asked>
      </Section>
    </Stack>
  );
}

function NewWebhook() {
  const [url, setUrl] = useState("");
  const [kinds, setKinds] = useState<string[]>(["job.finished"]);
  const [statuses, setStatuses] = useState<string[]>([]);
  const [least, setLeast] = useState<number | string>("");
  const [tags, setTags] = useState<string[]>([]);
  const [faster, setFaster] = useState(false);
  const [first, setFirst] = useState(false);
  const [made, setMade] = useState<NewWebhookView | null>(null);
  const queries = useQueryClient();
  const make = async (): Promise<void> => {
    const conditions = { statuses: statuses as JobStatus[], min_speedup: least === "" ? null : Number(least), faster, first_place: first, tags };
    setMade(await data(createWebhook({ body: { url: url.trim(), kinds: kinds as EventKind[], conditions } })));
    setUrl("");
    await queries.invalidateQueries({ queryKey: KEY });
  };
  const submit = (event: React.FormEvent): void => {
    event.preventDefault();
    void notify(make());
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={760}>
        <TextInput label="URL" placeholder="https://…" required value={url} onChange={(event) => setUrl(event.currentTarget.value)} maxLength={2000} />
        <Checkbox.Group label="Events" value={kinds} onChange={setKinds}>
          <Group mt={6} gap="md">
            {KINDS.map(([kind, name]) => (
              <Checkbox key={kind} value={kind} label={name} />
            ))}
          </Group>
        </Checkbox.Group>
        <fieldset className="plain-group">
          <legend>Conditions (all must hold)</legend>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <MultiSelect label="State" placeholder={statuses.length === 0 ? "any" : undefined} data={STATES} value={statuses} onChange={setStatuses} clearable />
            <NumberInput label="Minimum speedup" placeholder="any" suffix="×" min={0} step={0.1} decimalScale={3} value={least} onChange={setLeast} />
            <TagsInput label="Tags" placeholder={tags.length === 0 ? "any" : undefined} value={tags} onChange={setTags} maxTags={32} clearable />
            <Checkbox label="Surely faster (whole 95 % interval)" checked={faster} onChange={(event) => setFaster(event.currentTarget.checked)} style={{ alignSelf: "end" }} mb={8} />
            <Checkbox label="First place on the leaderboard" checked={first} onChange={(event) => setFirst(event.currentTarget.checked)} style={{ alignSelf: "end" }} mb={8} />
          </SimpleGrid>
        </fieldset>
        <Group>
          <Button type="submit" disabled={!url.trim() || kinds.length === 0}>
            Create webhook
          </Button>
        </Group>
        {made && (
          <Alert variant="outline" title="Copy the secret now: it is not shown again">
            <Group wrap="nowrap" align="end">
              <TextInput label="Secret" value={made.secret} readOnly style={{ flex: 1 }} onFocus={(event) => event.currentTarget.select()} />
              <Button variant="default" onClick={() => void notify(navigator.clipboard.writeText(made.secret), "Secret copied")}>
                Copy
              </Button>
            </Group>
          </Alert>
        )}
      </Stack>
    </form>
  );
}

function Known({ webhook }: { webhook: WebhookView }) {
  const queries = useQueryClient();
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: KEY });
  const path = { webhook_id: webhook.id };
  const act = (work: Promise<unknown>, done?: string): void => void notify(work.then(again), done);
  return (
    <Card withBorder component="section" aria-label={`Webhook ${webhook.url}`}>
      <Stack gap="sm">
        <Group justify="space-between" align="start">
          <div style={{ minWidth: 0, flex: "1 1 260px" }}>
            <Title order={3} size="h5" className="break">
              {webhook.url}
            </Title>
            <Text size="sm" className="quiet break">
              {webhook.kinds.map(nameOf).join(", ")} · {whenOf(webhook.conditions)} · created {ago(webhook.created_at)}
            </Text>
          </div>
          <Group gap="xs">
            <Switch label="Enabled" checked={webhook.enabled} onChange={(event) => act(data(switchWebhook({ path, body: { enabled: event.currentTarget.checked } })))} />
            <Button variant="default" size="xs" disabled={!webhook.enabled} onClick={() => act(data(tryWebhook({ path })))}>
              Send test
            </Button>
            <Button color="red" variant="outline" size="xs" onClick={() => act(removeWebhook({ path }), "Webhook removed")}>
              Remove
            </Button>
          </Group>
        </Group>
        {webhook.note && (
          <Alert color="orange" variant="outline">
            {webhook.note}
          </Alert>
        )}
        <Log webhook={webhook} />
      </Stack>
    </Card>
  );
}

/** When a webhook fires, in words. */
function whenOf({ statuses, min_speedup, faster, first_place, tags }: WebhookView["conditions"]): string {
  const words = [
    statuses?.map((one) => one.replace("_", " ")).join(" or "),
    min_speedup ? `at least ${min_speedup}×` : null,
    faster ? "surely faster" : null,
    first_place ? "first place" : null,
    tags && tags.length > 0 ? `tagged ${tags.join(" and ")}` : null,
  ].filter(Boolean);
  return words.length > 0 ? `only if ${words.join(", ")}` : "always";
}

const INKS: Record<DeliveryView["status"], string> = { delivered: "accepted", failed: "rejected", pending: "pending" };

function Log({ webhook }: { webhook: WebhookView }) {
  const path = { webhook_id: webhook.id };
  const log = useQuery({
    queryKey: [...KEY, webhook.id],
    queryFn: () => items(listDeliveries({ path })),
    refetchInterval: (query) => (query.state.data?.some((one) => one.status === "pending") ? 2_000 : 15_000),
  });
  const queries = useQueryClient();
  const resend = async (id: string): Promise<void> => {
    await data(resendDelivery({ path: { ...path, delivery_id: id } }));
    await queries.invalidateQueries({ queryKey: [...KEY, webhook.id] });
  };
  return (
    <Asked query={log} rows={2}>
      {(all) =>
        all.length === 0 ? (
          <Text size="sm" className="quiet">
            No deliveries yet.
          </Text>
        ) : (
          <Rows label={`Deliveries to ${webhook.url}`}>
            <thead>
              <tr>
                <th>Event</th>
                <th>Job</th>
                <th>Status</th>
                <th className="figure">Attempts</th>
                <th>Last error</th>
                <th>Time</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {all.map((one) => (
                <tr key={one.id}>
                  <td title={one.id}>{nameOf(one.kind)}</td>
                  <td>{one.job_id ? <Anchor component={Link} to={`/jobs/${one.job_id}`} size="sm" underline="always">{one.job_id}</Anchor> : "–"}</td>
                  <td>
                    <span className="pill" style={inks(INKS[one.status])} data-delivery={one.status}>
                      {one.status}
                    </span>
                  </td>
                  <td className="figure">{one.attempts}</td>
                  <td className="break">{one.fault ?? "–"}</td>
                  <td style={{ whiteSpace: "nowrap" }}>{one.status === "pending" ? `due ${ago(one.due_at)}` : ago(one.ended_at)}</td>
                  <td className="figure">
                    <Button size="compact-xs" variant="default" onClick={() => void notify(resend(one.id))} aria-label={`Redeliver ${one.id}`}>
                      Redeliver
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </Rows>
        )
      }
    </Asked>
  );
}
