import { Box, Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  id?: string;
  /** Across all columns, where its page has several. */
  wide?: boolean;
  /** Two rows high, beside two others. */
  tall?: boolean;
}

/** A titled part of a page. */
export function Section({ title, aside, children, id, wide, tall }: Props) {
  return (
    <Box component="section" aria-label={title} id={id} style={{ minWidth: 0, gridColumn: wide ? "1 / -1" : undefined, gridRow: tall ? "span 2" : undefined }}>
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
