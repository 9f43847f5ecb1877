/** Who judges candidates, on what, and what their devices can do. */
import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { data, items } from "../api";
import { listJobs, listNodes, listWorkers, me, type DeviceSheet, type NodeView, type WorkerView } from "../client";
import { ago, between, percent } from "../format";
import { inks } from "../parts/Pills";
import { Rows } from "../parts/Rows";
import { Section } from "../parts/Section";
import { Figure } from "../parts/Figure";
import { Asked, Empty } from "../parts/States";
import { useTitle } from "../parts/useTitle";

export function Component() {
  useTitle("Workers");
  const workers = useQuery({ queryKey: ["workers"], queryFn: () => items(listWorkers()), refetchInterval: 5_000 });
  const installation = useQuery({ queryKey: ["me"], queryFn: () => data(me()), staleTime: 60_000 });
  const busy = useQuery({
    queryKey: ["jobs", "busy"],
    queryFn: () => data(listJobs({ query: { status: ["queued", "validating", "running"], limit: 200 } })),
    refetchInterval: 5_000,
  });
  return (
    <Stack gap="lg">
      <Title order={1} size="h2">
        Workers and devices
      </Title>
      <Group gap="xl" className="figures">
        <Figure name="jobs running">{busy.data?.items.filter((job) => job.status !== "queued").length ?? "–"}</Figure>
        <Figure name="jobs waiting">{busy.data?.items.filter((job) => job.status === "queued").length ?? "–"}</Figure>
        <Figure name="version">{installation.data?.version ?? "–"}</Figure>
      </Group>
      <Asked query={workers} what="workers">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No workers connected">
              <span>
                Start one with <code>kernelwright worker</code>, or everything with <code>kernelwright serve</code>. Jobs wait until then.
              </span>
            </Empty>
          ) : (
            <Stack>
              {all.map((worker) => (
                <Worker key={`${worker.name}/${worker.device}`} worker={worker} />
              ))}
            </Stack>
          )
        }
      </Asked>
      <Processes />
    </Stack>
  );
}

const running = async (): Promise<NodeView[]> => (await items(listNodes())).filter((node) => node.state !== "refused");

/** Orchestrators and separate workers, as they report themselves. */
function Processes() {
  const nodes = useQuery({ queryKey: ["nodes"], queryFn: running, refetchInterval: 5_000 });
  return (
    <Section title="Processes">
      <Asked query={nodes} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <Text size="sm" className="quiet">
              No orchestrator seen in the last 30 seconds; jobs wait until one connects.
            </Text>
          ) : (
            <Rows label="Table of processes">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Role</th>
                  <th>State</th>
                  <th>Version</th>
                  <th className="figure">Load per core</th>
                  <th>Uptime</th>
                  <th>Last seen</th>
                </tr>
              </thead>
              <tbody>
                {all.map((node) => (
                  <tr key={node.name}>
                    <td className="break" style={{ minWidth: 170 }}>
                      {node.name}
                    </td>
                    <td>{node.role}</td>
                    <td>
                      <StatePill state={node.state} />
                    </td>
                    <td>{node.version}</td>
                    <td className="figure">{node.load.toFixed(2)}</td>
                    <td>{between(node.started_at, null)}</td>
                    <td>{ago(node.seen_at)}</td>
                  </tr>
                ))}
              </tbody>
            </Rows>
          )
        }
      </Asked>
    </Section>
  );
}

const COMPILES = "compile"; // such a worker builds for others, and has no device
const STATES: Record<NodeView["state"], string> = { ready: "accepted", draining: "suspicious", refused: "rejected" };

const StatePill = ({ state }: { state: NodeView["state"] }) => (
  <span className="pill" style={inks(STATES[state])}>
    {state}
  </span>
);

function Health({ node, measured }: { node: NodeView; measured: boolean }) {
  const up = Math.max(1, (Date.parse(node.seen_at) - Date.parse(node.started_at)) / 1000);
  return (
    <Group gap="xl" mt="sm" className="figures">
      <Figure name="load per core">{node.load.toFixed(2)}</Figure>
      {node.done > 0 && <Figure name="evaluations">{node.done}</Figure>}
      {node.done > 0 && <Figure name="utilisation">{percent(Math.min(1, node.busy_s / up))}</Figure>}
      {!measured && <Figure name="core limit">{node.units}</Figure>}
      <Figure name="memory limit per process">{number(node.memory_bytes / 2 ** 30)} GiB</Figure>
      <Figure name="version">{node.version}</Figure>
      <Figure name="uptime">{between(node.started_at, null)}</Figure>
      <Figure name="last seen">{ago(node.seen_at)}</Figure>
    </Group>
  );
}

/** A worker that could not begin: which one, when, and what to do about it. */
function Refused({ worker, node }: { worker: WorkerView; node: NodeView }) {
  return (
    <Card withBorder component="section" aria-label={`Refused worker ${worker.name}`} className="refused">
      <Heading worker={worker} />
      <Text size="sm" mt="xs" className="break">
        {node.fault}
      </Text>
      <Text size="sm" mt="xs" className="quiet">
        Could not begin {ago(node.seen_at)}, version {node.version}. It leaves this list when it starts, or after an hour.
      </Text>
    </Card>
  );
}

function Heading({ worker }: { worker: WorkerView }) {
  return (
    <Group gap="sm">
      <Title order={2} size="h4" className="break">
        {worker.name} ({worker.device === COMPILES ? "compile only" : worker.device.toUpperCase()})
      </Title>
      {worker.node && <StatePill state={worker.node.state} />}
    </Group>
  );
}

function Worker({ worker }: { worker: WorkerView }) {
  if (worker.node?.state === "refused") return <Refused worker={worker} node={worker.node} />;
  return (
    <Card withBorder component="section" aria-label={`Worker ${worker.name}`}>
      <Group justify="space-between">
        <Heading worker={worker} />
        <Text size="sm" className="quiet">
          {worker.backends.join(", ")}
          {worker.isolation && ` · isolation: ${worker.isolation}`}
        </Text>
      </Group>
      {worker.node?.fault && (
        <Text size="sm" c="red" role="status">
          Refuses orders: {worker.node.fault}
        </Text>
      )}
      {worker.node && <Health node={worker.node} measured={worker.sheet !== null} />}
      {worker.sheet ? <Sheet sheet={worker.sheet} /> : worker.device !== COMPILES && <Unmeasured />}
    </Card>
  );
}

const number = (value: number): string => value.toLocaleString("en", { maximumSignificantDigits: 3 });

function Unmeasured() {
  return (
    <Text size="sm" mt="sm">
      Not measured yet. A worker measures its device during its first job, in up to a minute.
    </Text>
  );
}

function Sheet({ sheet }: { sheet: DeviceSheet }) {
  return (
    <Stack gap="sm" mt="sm">
      <Text className="break">{sheet.model}</Text>
      <Group gap="xl" className="figures">
        <Figure name="cores or SMs">{sheet.units}</Figure>
        <Figure name="copy bandwidth">{number(sheet.copy_bandwidth_gb_s)} GB/s</Figure>
        <Figure name="cache bandwidth">{number(sheet.cache_bandwidth_gb_s)} GB/s</Figure>
        <Figure name="cache">{number(sheet.cache_bytes / 2 ** 20)} MiB</Figure>
        <Figure name="peak fp32">{number(sheet.peak_gflop_s)} GFLOP/s</Figure>
        {sheet.peak_half_gflop_s && <Figure name="peak fp16">{number(sheet.peak_half_gflop_s)} GFLOP/s</Figure>}
        <Figure name="launch overhead">{number(sheet.launch_us)} µs</Figure>
      </Group>
      <Text size="sm" className="quiet break">
        {sheet.toolchain}
      </Text>
      <details>
        <summary>Instruction set</summary>
        <Text size="sm" className="break">
          {sheet.instruction_set.join(", ")}
        </Text>
      </details>
    </Stack>
  );
}
