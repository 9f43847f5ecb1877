/** What stands where data would: loading, nothing, an error with a way on. */
import { Alert, Anchor, Button, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link, useRouteError } from "react-router";
import { ApiError } from "../api";

export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={26} />
      ))}
    </Stack>
  );
}

export function Empty({ title, children, page }: { title: string; children?: ReactNode; page?: boolean }) {
  return (
    <Stack align="center" gap="xs" py="xl">
      {page ? (
        <Title order={1} size="h4">
          {title}
        </Title>
      ) : (
        <Text fw={650}>{title}</Text>
      )}
      <Text size="sm" className="quiet" ta="center" maw={520} component="div">
        {children}
      </Text>
    </Stack>
  );
}

/** A part of the program that was not loaded before the server went away: browsers name its file. */
const NOT_LOADED = /dynamically imported module|importing a module script/i;

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NOT_LOADED.test(message)) return "This page could not be loaded while the server is away.";
  return message.replace(/^no (job|candidate|experience) (\S+)$/, "No $1 with id $2");
}

/** `what` could not be loaded. `page`: it stands for a whole page, so its title is the page's heading. */
export function Failure({ error, retry, page, what }: { error: unknown; retry?: () => void; page?: boolean; what?: string }) {
  const known = error instanceof ApiError ? error : null;
  const missing = known?.status === 404;
  const title = missing ? (what ? `${what[0]!.toUpperCase()}${what.slice(1)} not found` : "Not found") : known?.status === 0 ? "No connection" : `Could not load ${what ?? "this page"}`;
  return (
    <Alert color="red" variant="outline" title={page ? <Title order={1} size="sm">{title}</Title> : title} role="alert">
      <Stack gap="xs">
        <Text size="sm" className="break">
          {messageOf(error)}
        </Text>
        {missing && page ? (
          <Group>
            <Button size="xs" variant="default" component={Link} to="/">
              Back to jobs
            </Button>
          </Group>
        ) : (
          retry && (
            <Group>
              <Button size="xs" variant="default" onClick={retry}>
                Try again
              </Button>
            </Group>
          )
        )}
      </Stack>
    </Alert>
  );
}

/** Data, or what stands for it. */
export function Asked<T>({
  query,
  rows,
  page,
  what,
  children,
}: {
  query: { data: T | undefined; error: unknown; refetch: () => unknown };
  rows?: number;
  page?: boolean;
  what?: string;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} page={page} what={what} />;
  return <Loading rows={rows} />;
}

export function NotFound() {
  return (
    <Empty title="Page not found" page>
      <Anchor component={Link} to="/" underline="always">
        Back to jobs
      </Anchor>
    </Empty>
  );
}

/** A page that failed: a bug, a server that is away, or a part of the program that an update has replaced. */
export function PageFault() {
  const error = useRouteError();
  return (
    <Stack p="lg" maw={720} mx="auto">
      <Title order={1} size="h3">
        Something went wrong
      </Title>
      <Failure error={error} />
      <Group>
        <Button onClick={() => location.reload()}>Reload</Button>
        <Button variant="default" component="a" href="/">
          Back to jobs
        </Button>
      </Group>
    </Stack>
  );
}
