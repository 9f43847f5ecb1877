/** Who belongs to the team, what opens the API, what the team may use, and who did what. */
import { Anchor, Button, Group, Progress, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { data, items } from "../api";
import {
  addMember,
  chooseTeam,
  listMembers,
  listQuotas,
  me,
  removeMember,
  setRole,
  signOut,
  type MemberView,
  type MeView,
  type QuotaView,
  type Role,
} from "../client";
import { ago, count, dollars, seconds } from "../format";
import { AuditTrail } from "../parts/AuditTrail";
import { Figure } from "../parts/Figure";
import { notify } from "../parts/notify";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Asked, Empty } from "../parts/States";
import { Tokens } from "../parts/Tokens";
import { useTitle } from "../parts/useTitle";

const ROLES: Role[] = ["viewer", "member", "admin"];

export function Component() {
  useTitle("Team");
  const caller = useQuery({ queryKey: ["me"], queryFn: () => data(me()), staleTime: 60_000 });
  return (
    <Stack gap="xl">
      <Title order={1} size="h2">
        Team
      </Title>
      <Asked query={caller} rows={3}>
        {(known) => (
          <>
            <Who caller={known} />
            <Quotas />
            <Members manages={known.scopes.includes("admin")} />
            <Tokens caller={known} />
            {known.scopes.includes("admin") && <AuditTrail />}
          </>
        )}
      </Asked>
    </Stack>
  );
}

function Who({ caller }: { caller: MeView }) {
  const queries = useQueryClient();
  const turn = async (team: string | null): Promise<void> => {
    if (team && team !== caller.team && (await notify(chooseTeam({ body: { team } })))) await queries.resetQueries();
  };
  const leave = async (): Promise<void> => {
    if (await notify(signOut(), "Signed out")) await queries.resetQueries();
  };
  return (
    <Group gap="xl" className="figures" align="end">
      {caller.teams.length > 1 ? (
        <Select label="Team" data={[...caller.teams]} value={caller.team} allowDeselect={false} onChange={(team) => void turn(team)} />
      ) : (
        <Figure name="team">{caller.team}</Figure>
      )}
      <Figure name={caller.by === "local" ? "local user" : (caller.user ?? "team token")}>{caller.role}</Figure>
      <Figure name="scopes">{caller.scopes.join(", ")}</Figure>
      {caller.by === "session" && (
        <Button variant="default" onClick={() => void leave()}>
          Sign out
        </Button>
      )}
    </Group>
  );
}

const NAMES = { jobs: "Jobs", tokens: "Model tokens", dollars: "Model cost", device_s: "Device time" };
const amount = (resource: QuotaView["resource"], value: number): string =>
  resource === "dollars" ? dollars(value) : resource === "device_s" ? seconds(value) : count(value);

function Quotas() {
  const quotas = useQuery({ queryKey: ["quotas"], queryFn: () => items(listQuotas()), refetchInterval: 15_000 });
  return (
    <Section title="Quotas">
      <Asked query={quotas} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Text size="sm" className="quiet">
              No quotas. The operator can set them: <code>kernelwright team quota TEAM jobs=200/day</code>
            </Text>
          ) : (
            <Stack gap="sm" maw={720}>
              {all.map((quota) => (
                <Use key={`${quota.resource}/${quota.period}`} quota={quota} />
              ))}
            </Stack>
          )
        }
      </Asked>
    </Section>
  );
}

function Use({ quota }: { quota: QuotaView }) {
  const share = quota.most > 0 ? Math.min(100, (quota.used / quota.most) * 100) : 100;
  const name = `${NAMES[quota.resource]} this ${quota.period}`;
  return (
    <div data-quota={quota.resource}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">{name}</Text>
        <Text size="sm" style={{ fontVariantNumeric: "tabular-nums" }}>
          {amount(quota.resource, quota.used)} of {amount(quota.resource, quota.most)}
          {quota.used >= quota.most ? `: exhausted, resets ${ago(quota.resets_at)}` : ""}
        </Text>
      </Group>
      <Progress value={share} aria-label={name} color={share >= 100 ? "red" : share >= 80 ? "orange" : "cyan"} />
    </div>
  );
}

function Members({ manages }: { manages: boolean }) {
  const members = useQuery({ queryKey: ["members"], queryFn: () => items(listMembers()) });
  return (
    <Section title="Members">
      <Stack gap="sm">
        <Asked query={members} rows={3}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="No members yet">
                Members sign in through your identity provider, if one is configured.
              </Empty>
            ) : (
              <Rows label="List of members">
                <thead>
                  <tr>
                    <th>Member</th>
                    <th>Role</th>
                    <th>Since</th>
                    <th>Signed in</th>
                    {manages && <td />}
                  </tr>
                </thead>
                <tbody>
                  {all.map((member) => (
                    <Row key={member.user_id} member={member} manages={manages} />
                  ))}
                </tbody>
              </Rows>
            )
          }
        </Asked>
        {manages && <Invitation />}
      </Stack>
    </Section>
  );
}

function useChange<T>(work: (given: T) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: work,
    onSettled: () => Promise.all(["members", "audit-log"].map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  });
}

function Row({ member, manages }: { member: MemberView; manages: boolean }) {
  const change = useChange((role: Role) => setRole({ path: { user_id: member.user_id }, body: { role } }));
  const remove = useChange(() => removeMember({ path: { user_id: member.user_id } }));
  return (
    <tr data-member={member.login}>
      <td className="break">
        {member.login}
        {member.name !== member.login && <span className="quiet"> {member.name}</span>}
      </td>
      <td>
        {manages ? (
          <Select
            aria-label={`Role of ${member.login}`}
            size="xs"
            w={110}
            data={ROLES}
            value={member.role}
            allowDeselect={false}
            onChange={(role) => role && role !== member.role && void notify(change.mutateAsync(role as Role))}
          />
        ) : (
          member.role
        )}
      </td>
      <td style={{ whiteSpace: "nowrap" }}>{ago(member.since)}</td>
      <td>{member.signed_in ? "yes" : "not yet"}</td>
      {manages && (
        <td>
          <Anchor component="button" type="button" underline="always" size="sm" aria-label={`Remove ${member.login}`} onClick={() => void notify(remove.mutateAsync(undefined))}>
            Remove
          </Anchor>
        </td>
      )}
    </tr>
  );
}

function Invitation() {
  const [login, setLogin] = useState("");
  const [role, setRoleOf] = useState<Role>("member");
  const add = useChange(() => addMember({ body: { login, role } }));
  const submit = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    if (await notify(add.mutateAsync(undefined), `Added ${login}`)) setLogin("");
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Group align="end" gap="sm">
        <TextInput
          label="Email address"
          description="At the identity provider"
          required
          value={login}
          onChange={(event) => setLogin(event.currentTarget.value)}
          style={{ flex: "1 1 240px", maxWidth: 380 }}
        />
        <Select label="Role" data={ROLES} value={role} allowDeselect={false} onChange={(value) => value && setRoleOf(value as Role)} w={130} />
        <Button type="submit" loading={add.isPending}>
          Add member
        </Button>
      </Group>
    </form>
  );
}
