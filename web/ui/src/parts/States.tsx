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

/** `page`: it stands for a whole page, so its title is the page's heading. */
export function Failure({ error, retry, page }: { error: unknown; retry?: () => void; page?: boolean }) {
  const known = error instanceof ApiError ? error : null;
  const title = known?.status === 404 ? "Not here" : known?.status === 0 ? "No connection" : "That did not work";
  return (
    <Alert color="red" variant="outline" title={page ? <Title order={1} size="sm">{title}</Title> : title} role="alert">
      <Stack gap="xs">
        <Text size="sm" className="break">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        {retry && (
          <Group>
            <Button size="xs" variant="default" onClick={retry}>
              Try again
            </Button>
          </Group>
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
  children,
}: {
  query: { data: T | undefined; error: unknown; refetch: () => unknown };
  rows?: number;
  page?: boolean;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} page={page} />;
  return <Loading rows={rows} />;
}

export function NotFound() {
  return (
    <Empty title="There is no such page" page>
      <Anchor component={Link} to="/" underline="always">
        Back to the jobs
      </Anchor>
    </Empty>
  );
}

/** A page that fell over: a bug, or a part of the program that an update has replaced. */
export function PageFault() {
  const error = useRouteError();
  return (
    <Stack p="lg" maw={720} mx="auto">
      <Title order={1} size="h3">
        This page could not be shown
      </Title>
      <Failure error={error} />
      <Group>
        <Button onClick={() => location.reload()}>Load it again</Button>
        <Button variant="default" component="a" href="/">
          To the jobs
        </Button>
      </Group>
    </Stack>
  );
}
