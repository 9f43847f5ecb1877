import { Text } from "@mantine/core";
import { differing, reasonOf, type Measured } from "../ratios";

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

/** The same for many kernels with their medians; nothing where every speedup is the ratio of its medians. */
export function RatiosNote({ measured }: { measured: readonly Measured[] }) {
  if (measured.every((one) => differing(one).length === 0)) return null;
  return (
    <Text size="xs" className="quiet" mt={6} data-note="ratio">
      Speedup is the median over pairs of calls taken in turns with the fastest baseline, which cancels the machine's drift; medians are of single runs and need not give it.
    </Text>
  );
}
