/** Who is told of the team's events, and what came of it. */
import { Alert, Anchor, Button, Card, Checkbox, Group, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { data } from "../api";
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
  type MeView,
  type NewWebhookView,
  type WebhookView,
} from "../client";
import { ago } from "../format";
import { notify } from "../parts/notify";
import { inks } from "../parts/Pills";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const KINDS: [EventKind, string][] = [
  ["job.finished", "a job has ended"],
  ["job.status", "a job has changed its status"],
  ["job.validated", "a problem was analysed"],
  ["step.finished", "a round has ended"],
  ["evaluation.finished", "a candidate was judged"],
  ["job.notice", "something works less well"],
];
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
  const why = caller.role === "admin" ? "the token you gave does not permit it: it lacks the scope admin" : `your role in team ${caller.team} is ${caller.role}`;
  return (
    <Empty title="Webhooks are for the team's admins" page>
      Their addresses and deliveries are shown to nobody else, and {why}. An admin can change that on the page{" "}
      <Anchor component={Link} to="/team" underline="always">
        Team
      </Anchor>
      .
    </Empty>
  );
}

function Managed() {
  const webhooks = useQuery({ queryKey: KEY, queryFn: () => data(listWebhooks()) });
  return (
    <Stack gap="xl">
      <Title order={1} size="h2" mb={-16}>
        Webhooks
      </Title>
      <Text size="sm" maw={760}>
        Signed messages about jobs, posted to addresses of your own. What does not arrive is sent again for three days; a message has the same id each time.
      </Text>
      <Section title="A new one">
        <NewWebhook />
      </Section>
      <Section title="Who is told">
        <Asked query={webhooks}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="Nobody is told yet" />
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
  const [made, setMade] = useState<NewWebhookView | null>(null);
  const queries = useQueryClient();
  const make = async (): Promise<void> => {
    setMade(await data(createWebhook({ body: { url: url.trim(), kinds: kinds as EventKind[] } })));
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
        <TextInput label="Address" placeholder="https://…" required value={url} onChange={(event) => setUrl(event.currentTarget.value)} maxLength={2000} />
        <Checkbox.Group label="Told when" value={kinds} onChange={setKinds}>
          <Group mt={6} gap="md">
            {KINDS.map(([kind, name]) => (
              <Checkbox key={kind} value={kind} label={name} />
            ))}
          </Group>
        </Checkbox.Group>
        <Group>
          <Button type="submit" disabled={!url.trim() || kinds.length === 0}>
            Tell this address
          </Button>
        </Group>
        {made && (
          <Alert variant="outline" title="Keep the secret: it is not shown again">
            <Group wrap="nowrap" align="end">
              <TextInput label="Secret" value={made.secret} readOnly style={{ flex: 1 }} onFocus={(event) => event.currentTarget.select()} />
              <Button variant="default" onClick={() => void notify(navigator.clipboard.writeText(made.secret), "The secret is in the clipboard")}>
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
              {webhook.kinds.join(", ")} · made {ago(webhook.created_at)}
            </Text>
          </div>
          <Group gap="xs">
            <Switch label="On" checked={webhook.enabled} onChange={(event) => act(data(switchWebhook({ path, body: { enabled: event.currentTarget.checked } })))} />
            <Button variant="default" size="xs" disabled={!webhook.enabled} onClick={() => act(data(tryWebhook({ path })))}>
              Send a test
            </Button>
            <Button color="red" variant="outline" size="xs" onClick={() => act(removeWebhook({ path }), "Removed")}>
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

const INKS: Record<DeliveryView["status"], string> = { delivered: "accepted", failed: "rejected", pending: "pending" };

function Log({ webhook }: { webhook: WebhookView }) {
  const path = { webhook_id: webhook.id };
  const log = useQuery({
    queryKey: [...KEY, webhook.id],
    queryFn: () => data(listDeliveries({ path })),
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
            Nothing was sent yet.
          </Text>
        ) : (
          <div className="scroll-x" tabIndex={0} role="region" aria-label={`Messages to ${webhook.url}`}>
            <table className="rows">
              <thead>
                <tr>
                  <th>Message</th>
                  <th>Job</th>
                  <th>Status</th>
                  <th className="figure">Attempts</th>
                  <th>Last fault</th>
                  <th>When</th>
                  <th className="figure">Again</th>
                </tr>
              </thead>
              <tbody>
                {all.map((one) => (
                  <tr key={one.id}>
                    <td title={one.id}>{one.kind}</td>
                    <td>{one.job_id ? <Link to={`/jobs/${one.job_id}`}>{one.job_id}</Link> : "–"}</td>
                    <td>
                      <span className="pill" style={inks(INKS[one.status])} data-delivery={one.status}>
                        {one.status}
                      </span>
                    </td>
                    <td className="figure">{one.attempts}</td>
                    <td className="break">{one.fault ?? "–"}</td>
                    <td style={{ whiteSpace: "nowrap" }}>{one.status === "pending" ? `due ${ago(one.due_at)}` : ago(one.ended_at)}</td>
                    <td className="figure">
                      <Button size="compact-xs" variant="default" onClick={() => void notify(resend(one.id))} aria-label={`Send ${one.id} again`}>
                        Send
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Asked>
  );
}
