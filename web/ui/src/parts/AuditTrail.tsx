import { Anchor, Button, Group, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { data } from "../api";
import { listAudit } from "../client";
import { ago } from "../format";
import { Rows } from "./Rows";
import { Section } from "./Section";
import { Asked } from "./States";

/** Who did what in the team, newest first. */
export function AuditTrail() {
  const pages = useInfiniteQuery({
    queryKey: ["audit-log"],
    queryFn: ({ pageParam }) => data(listAudit({ query: { limit: 25, cursor: pageParam } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  return (
    <Section title="Audit log">
      <Asked query={pages} rows={4}>
        {(found) => {
          const all = found.pages.flatMap((page) => page.items);
          if (all.length === 0) return <Text size="sm" className="quiet">No entries yet.</Text>;
          return (
            <>
              <Rows label="Entries of the audit log">
                <thead>
                  <tr>
                    <th>Time</th>
                    <th>Actor</th>
                    <th>Action</th>
                    <th>Target</th>
                    <th>Detail</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((entry) => (
                    <tr key={entry.id} data-act={entry.action}>
                      <td style={{ whiteSpace: "nowrap" }}>{ago(entry.at)}</td>
                      <td className="break">{entry.actor}</td>
                      <td>{entry.action.replaceAll("_", " ")}</td>
                      <td className="mono break">
                        {entry.subject.startsWith("job-") ? (
                          <Anchor component={Link} to={`/jobs/${entry.subject}`} underline="always" size="sm">
                            {entry.subject}
                          </Anchor>
                        ) : (
                          entry.subject
                        )}
                      </td>
                      <td className="break">{entry.detail}</td>
                    </tr>
                  ))}
                </tbody>
              </Rows>
              {pages.hasNextPage && (
                <Group mt="xs">
                  <Button variant="default" size="xs" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
                    Older entries
                  </Button>
                </Group>
              )}
            </>
          );
        }}
      </Asked>
    </Section>
  );
}
