/** A job's report to take away, and read-only links to it. */
import { Button, Group, Menu, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { data, items, download, serverNow } from "../api";
import { createReportShare, listReportShares, revokeReportShare, type JobView, type ReportShareView } from "../client";
import { ago } from "../format";
import { notify } from "./notify";
import { Asked } from "./States";

const DAYS = [
  { value: "1", label: "1 day" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "365", label: "1 year" },
];

export function Sharing({ job }: { job: JobView }) {
  const [opened, setOpened] = useState(false);
  const take = (): void => void notify(download(`/api/v1/jobs/${job.id}/report`, `${job.id}.html`));
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">Report</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={take}>Download HTML</Menu.Item>
          <Menu.Item onClick={() => setOpened(true)}>Share by link…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={opened} onClose={() => setOpened(false)} title="Share this report" centered size="lg" closeButtonProps={{ "aria-label": "Close" }}>
        <Links jobId={job.id} />
      </Modal>
    </>
  );
}

const key = (jobId: string) => ["shares", jobId];

function Links({ jobId }: { jobId: string }) {
  const links = useQuery({ queryKey: key(jobId), queryFn: () => items(listReportShares({ path: { job_id: jobId } })) });
  return (
    <Stack>
      <Text size="sm">
        Anyone with the link can view this job's current report without signing in: figures, gates, lineage and the kernel's source. The link is read-only.
      </Text>
      <NewLink jobId={jobId} />
      <Asked query={links} rows={2}>
        {(all) => <Open links={all.filter((one) => !one.revoked_at && Date.parse(one.expires_at) > serverNow())} />}
      </Asked>
    </Stack>
  );
}

function NewLink({ jobId }: { jobId: string }) {
  const [days, setDays] = useState("7");
  const [address, setAddress] = useState<string | null>(null);
  const queries = useQueryClient();
  const make = async (): Promise<void> => {
    const made = await data(createReportShare({ path: { job_id: jobId }, body: { days: Number(days) } }));
    setAddress(new URL(made.path, location.href).href);
    await queries.invalidateQueries({ queryKey: key(jobId) });
  };
  return (
    <>
      <Group align="end">
        <Select label="Expires in" data={DAYS} value={days} onChange={(next) => next && setDays(next)} allowDeselect={false} w={140} />
        <Button onClick={() => void notify(make())}>Create link</Button>
      </Group>
      {address && (
        <Group align="end" wrap="nowrap">
          <TextInput label="Link (shown only once)" value={address} readOnly style={{ flex: 1 }} onFocus={(event) => event.currentTarget.select()} />
          <Button variant="default" onClick={() => void notify(navigator.clipboard.writeText(address), "Link copied")}>
            Copy
          </Button>
        </Group>
      )}
    </>
  );
}

function Open({ links }: { links: ReportShareView[] }) {
  const queries = useQueryClient();
  if (links.length === 0) return <Text size="sm" className="quiet">No active links.</Text>;
  const revoke = async (link: ReportShareView): Promise<void> => {
    await data(revokeReportShare({ path: { job_id: link.job_id, share_id: link.id } }));
    await queries.invalidateQueries({ queryKey: key(link.job_id) });
  };
  return (
    <table className="rows">
      <thead>
        <tr>
          <th>Created</th>
          <th>Expires</th>
          <td />
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={link.id}>
            <td>{ago(link.created_at)}</td>
            <td>{ago(link.expires_at)}</td>
            <td className="figure">
              <Button size="compact-sm" color="red" variant="outline" onClick={() => void notify(revoke(link), "Link revoked")}>
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
