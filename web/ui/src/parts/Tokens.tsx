/** Tokens: made, shown once, listed without their secrets, and ended. */
import { Alert, Anchor, Button, Checkbox, CopyButton, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { data, items } from "../api";
import { createToken, listTokens, revokeToken, type MeView, type NewTokenView, type TokenScope, type TokenView } from "../client";
import { ago } from "../format";
import { notify } from "./notify";
import { Rows } from "./Rows";
import { Section } from "./Section";
import { Asked } from "./States";

const LIVES = [
  { value: "7", label: "7 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
];

function useChange<T, R>(work: (given: T) => Promise<R>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: work,
    onSettled: () => Promise.all(["tokens", "audit-log"].map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  });
}

export function Tokens({ caller }: { caller: MeView }) {
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => items(listTokens()) });
  const [made, setMade] = useState<NewTokenView | null>(null);
  return (
    <Section title="Tokens">
      <Stack gap="sm">
        <Text size="sm" className="quiet">
          Programs send a token as <code>Authorization: Bearer kw_…</code>; the command line reads it from <code>KERNELWRIGHT_TOKEN</code>.
        </Text>
        {made && <Once made={made} close={() => setMade(null)} />}
        <Asked query={tokens} rows={3}>
          {(all) => (all.length === 0 ? <Text size="sm">No tokens yet.</Text> : <Listed tokens={all} />)}
        </Asked>
        <NewToken caller={caller} show={setMade} />
      </Stack>
    </Section>
  );
}

function Once({ made, close }: { made: NewTokenView; close: () => void }) {
  return (
    <Alert color="teal" variant="outline" title={`Copy the token “${made.token.name}” now: it is not shown again`} data-token-text>
      <Group gap="sm">
        <code className="mono break">{made.text}</code>
        <CopyButton value={made.text}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
        <Button size="xs" variant="default" onClick={close}>
          Done
        </Button>
      </Group>
    </Alert>
  );
}

function Listed({ tokens }: { tokens: TokenView[] }) {
  return (
    <Rows label="List of tokens">
      <thead>
        <tr>
          <th>Name</th>
          <th>Prefix</th>
          <th>Scopes</th>
          <th>Owner</th>
          <th>Last used</th>
          <th>Expires</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <Line key={token.id} token={token} />
        ))}
      </tbody>
    </Rows>
  );
}

function Line({ token }: { token: TokenView }) {
  const revoke = useChange(() => revokeToken({ path: { token_id: token.id } }));
  return (
    <tr data-token={token.id}>
      <td className="break">{token.name}</td>
      <td className="mono">{token.prefix}…</td>
      <td>
        {token.scopes.join(", ")}
        {token.devices.length > 0 && ` (${token.devices.join(", ")})`}
      </td>
      <td>{token.user_id ? "member" : "team"}</td>
      <td style={{ whiteSpace: "nowrap" }}>{token.used_at ? ago(token.used_at) : "never"}</td>
      <td style={{ whiteSpace: "nowrap" }}>{token.revoked_at ? `revoked ${ago(token.revoked_at)}` : token.expires_at ? ago(token.expires_at) : "never"}</td>
      <td>
        {!token.revoked_at && (
          <Anchor
            component="button"
            type="button"
            underline="always"
            size="sm"
            aria-label={`Revoke ${token.name}`}
            onClick={() => void notify(revoke.mutateAsync(undefined), `Revoked “${token.name}”`)}
          >
            Revoke
          </Anchor>
        )}
      </td>
    </tr>
  );
}

/** Who runs the installation: the team that gives tokens to device nodes. */
const OPERATORS = "local";
const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

function NewToken({ caller, show }: { caller: MeView; show: (made: NewTokenView) => void }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<string | null>("90");
  const [scopes, setScopes] = useState<string[]>(() => caller.scopes.filter((scope) => scope !== "admin"));
  const [forNode, setForNode] = useState(false);
  const [devices, setDevices] = useState("");
  const opens = forNode ? { scopes: ["node" as TokenScope], devices: namesIn(devices), of_team: true } : { scopes: scopes as TokenScope[] };
  const create = useChange(() => data(createToken({ body: { name, days: Number(days), ...opens } })));
  const mayGiveToNodes = caller.team === OPERATORS && caller.role === "admin" && caller.scopes.includes("admin");
  const make = async (): Promise<void> => {
    show(await create.mutateAsync(undefined));
    setName("");
  };
  const submit = (event: React.FormEvent): void => {
    event.preventDefault();
    void notify(make());
  };
  return (
    <form onSubmit={submit}>
      <Group align="end" gap="md">
        <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} style={{ flex: "1 1 200px", maxWidth: 320 }} />
        {forNode ? (
          <TextInput
            label="Devices whose orders it takes"
            placeholder="h200, compile"
            required
            value={devices}
            onChange={(event) => setDevices(event.currentTarget.value)}
            style={{ flex: "1 1 200px", maxWidth: 320 }}
          />
        ) : (
          <Checkbox.Group label="Scopes" value={scopes} onChange={setScopes}>
            <Group gap="sm" mih={36}>
              {caller.scopes.map((scope) => (
                <Checkbox key={scope} value={scope} label={scope} />
              ))}
            </Group>
          </Checkbox.Group>
        )}
        <Select label="Expires in" data={LIVES} value={days} allowDeselect={false} onChange={setDays} w={120} />
        <Button type="submit" loading={create.isPending} disabled={opens.scopes.length === 0}>
          Create token
        </Button>
      </Group>
      {mayGiveToNodes && (
        <Checkbox
          mt="sm"
          label="For a device node: it takes work orders and opens nothing else"
          checked={forNode}
          onChange={(event) => setForNode(event.currentTarget.checked)}
        />
      )}
    </form>
  );
}
