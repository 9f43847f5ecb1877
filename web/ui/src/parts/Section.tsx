import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** A titled part of a page. */
export function Section({ title, aside, children, id }: { title: string; aside?: ReactNode; children: ReactNode; id?: string }) {
  return (
    <Box component="section" aria-label={title} id={id} style={{ minWidth: 0 }}>
      <Group justify="space-between" mb="xs" gap="sm">
        <Title order={2} size="h4">
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Box>
  );
}
