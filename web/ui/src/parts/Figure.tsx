import { Text } from "@mantine/core";
import type { ReactNode } from "react";

/** A figure with its name below. */
export function Figure({ name, children, big }: { name: string; children: ReactNode; big?: boolean }) {
  return (
    <div>
      <Text fz={big ? 30 : 18} fw={700} lh={1.2} style={{ fontVariantNumeric: "tabular-nums" }} component="div">
        {children}
      </Text>
      <Text size="xs" className="quiet">
        {name}
      </Text>
    </div>
  );
}
