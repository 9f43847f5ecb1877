import { Text } from "@mantine/core";
import { reasonOf, type Measured } from "../ratios";

/** Why a speedup is not the ratio of the medians beside it; nothing where it is. */
export function RatioNote({ measured }: { measured: Measured }) {
  const reason = reasonOf(measured);
  if (reason === null) return null;
  return (
    <Text size="sm" className="quiet" maw={860} data-note="ratio">
      {reason}
    </Text>
  );
}
