import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  id?: string;
  /** Across all columns, where its page has several. */
  wide?: boolean;
  /** What is left of its row, or one of its own. */
  rest?: boolean;
}

/** A titled part of a page. */
export function Section({ title, aside, children, id, wide, rest }: Props) {
  return (
    <Box component="section" aria-label={title} id={id} className={wide ? "across" : rest ? "rest" : undefined} miw={0}>
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
