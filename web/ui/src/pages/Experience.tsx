/** One experience: what it says, what it was worth over time, where it was used, and taking it back. */
import { Alert, Anchor, Button, Group, Modal, Stack, Text, Textarea, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, useState } from "react";
import { Link, useParams } from "react-router";
import { data } from "../api";
import { getExperience, retractExperience, type ExperienceView } from "../client";
import { ago, micros, ratio, signed } from "../format";
import { Figure } from "../parts/Figure";
import { Later } from "../parts/Later";
import { notify } from "../parts/notify";
import { Provenance } from "../parts/Provenance";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

const Code = lazy(() => import("../parts/Code"));
const ValueChart = lazy(() => import("../parts/ValueChart"));

export function Component() {
  const { experienceId = "" } = useParams();
  const experience = useQuery({
    queryKey: ["experience", experienceId],
    queryFn: () => data(getExperience({ path: { experience_id: experienceId } })),
  });
  useTitle(experience.data?.title ?? "Experience");
  return <Asked query={experience} page what="experience">{(known) => <Known key={known.id} experience={known} />}</Asked>;
}

function Known({ experience: one }: { experience: ExperienceView }) {
  return (
    <Stack gap="xl">
      <Head one={one} />
      <Section title="Content">
        <pre className="plain" tabIndex={0} aria-label="Text of the experience">
          {one.text}
        </pre>
      </Section>
      <Section title="Value over time">
        {one.history.length === 0 ? (
          <Empty title="No rewards yet">Values are learned from steps that had the experience in their context.</Empty>
        ) : (
          <Later height={300}>
            <ValueChart history={one.history} />
          </Later>
        )}
      </Section>
      <Section title={`Uses (${one.uses.length >= 50 ? "latest " : ""}${one.uses.length})`}>
        <Uses uses={one.uses} />
      </Section>
      <Section title="Lineage">
        <Stack>
          <Origin one={one} />
          <Provenance id={one.id} />
        </Stack>
      </Section>
      {one.code && (
        <Section title="Code">
          <Later height={300}>
            <Code text={one.code} label="Code of the experience" />
          </Later>
        </Section>
      )}
    </Stack>
  );
}

function Head({ one }: { one: ExperienceView }) {
  const [asking, setAsking] = useState(false);
  return (
    <Stack gap="sm">
      <Text size="sm">
        <Anchor component={Link} to="/memory" underline="always">
          Memory
        </Anchor>
      </Text>
      <Group justify="space-between" align="start">
        <Title order={1} size="h3" className="break" style={{ flex: "1 1 300px" }}>
          {one.title}
        </Title>
        {!one.retracted && (
          <Button color="red" variant="outline" onClick={() => setAsking(true)}>
            Retract
          </Button>
        )}
      </Group>
      {one.retracted && (
        <Alert color="orange" variant="outline">
          Retracted. It is no longer recalled, and all credit it gave was reversed.
        </Alert>
      )}
      {one.is_self_attested && (
        <Alert color="orange" variant="outline">
          Self-attested: the problem&apos;s own <code>TOLERANCE</code> is looser than the referee&apos;s. It is neither recalled nor exported.
        </Alert>
      )}
      {one.is_unproven && !one.is_self_attested && (
        <Alert color="orange" variant="outline">
          Proven by an older referee. It is not recalled or exported before <code>kernelwright reverify</code> has accepted it again.
        </Alert>
      )}
      <Group gap="xl" className="figures">
        {one.worth.map((worth) => (
          <Figure key={worth.stage} name={`value in ${worth.stage} (${Number(worth.visits.toFixed(1))} ${worth.visits === 1 ? "reward" : "rewards"})`}>
            {signed(worth.value)}
          </Figure>
        ))}
        <Figure name="kind">{one.kind.replace("_", " ")}</Figure>
        <Figure name="family">{one.family}</Figure>
        <Figure name="backend">
          {one.backend} on {one.device}
        </Figure>
        {one.speedup !== null && <Figure name="speedup">{ratio(one.speedup)}</Figure>}
        {one.median_us !== null && <Figure name="median latency">{micros(one.median_us)}</Figure>}
      </Group>
      {one.moves.length > 0 && <Text size="sm">Moves: {one.moves.join(", ")}</Text>}
      <Retract id={one.id} opened={asking} close={() => setAsking(false)} />
    </Stack>
  );
}

function Retract({ id, opened, close }: { id: string; opened: boolean; close: () => void }) {
  const [reason, setReason] = useState("");
  const [sending, setSending] = useState(false);
  const queries = useQueryClient();
  const submit = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setSending(true);
    const work = data(retractExperience({ path: { subject: id }, body: { reason, actor: "web" } }));
    if (await notify(work, "Experience retracted")) {
      close();
      await Promise.all(["experience", "experiences", "effect", "audit"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    }
    setSending(false);
  };
  return (
    <Modal opened={opened} onClose={close} title="Retract experience" centered closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <Text size="sm">It will no longer be recalled, and all credit it gave is reversed. The reason is recorded in the audit log.</Text>
          <Textarea label="Reason" required value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={2000} autosize minRows={2} data-autofocus />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" color="red" loading={sending} disabled={!reason.trim()}>
              Retract
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Uses({ uses }: { uses: ExperienceView["uses"] }) {
  if (uses.length === 0) return <Empty title="No uses yet" />;
  return (
    <Rows label="Uses">
      <thead>
        <tr>
          <th>Step</th>
          <th>Kernel</th>
          <th>Stage</th>
          <th className="figure">Value then</th>
          <th className="figure">Similarity</th>
          <th>Verdict</th>
          <th className="figure">Reward</th>
          <th>Time</th>
        </tr>
      </thead>
      <tbody>
        {uses.map((use) => (
          <tr key={`${use.job_id}/${use.step}`}>
            <td>
              <Anchor component={Link} to={`/jobs/${use.job_id}/trace?step=${use.step + 1}`} data-row underline="always">
                {use.job_id}, round {use.step + 1}
              </Anchor>
            </td>
            <td>
              {use.candidate_id ? (
                <Anchor component={Link} to={`/candidates/${use.candidate_id}`} underline="always" aria-label={`open the kernel of ${use.job_id}, round ${use.step + 1}`}>
                  open
                </Anchor>
              ) : (
                "–"
              )}
            </td>
            <td>{use.stage}</td>
            <td className="figure">{use.value === null ? "–" : signed(use.value)}</td>
            <td className="figure">{use.similarity?.toFixed(2) ?? "–"}</td>
            <td>{use.verdict ?? "–"}</td>
            <td className="figure">{signed(use.reward)}</td>
            <td style={{ whiteSpace: "nowrap" }}>{ago(use.at)}</td>
          </tr>
        ))}
      </tbody>
    </Rows>
  );
}

/** The candidate and job that gave it. */
function Origin({ one }: { one: ExperienceView }) {
  return (
    <Text size="sm">
      {one.job_id ? (
        <>
          From{" "}
          <Anchor component={Link} to={`/jobs/${one.job_id}`} underline="always">
            {one.job_id}
          </Anchor>
          {one.candidate_id && (
            <>
              , kernel{" "}
              <Anchor component={Link} to={`/candidates/${one.candidate_id}`} underline="always">
                {one.candidate_id}
              </Anchor>
            </>
          )}
          , {ago(one.created_at)}.
        </>
      ) : (
        "Shipped with the installation, or imported."
      )}{" "}
      Toolchain: {one.toolchain}.
    </Text>
  );
}
