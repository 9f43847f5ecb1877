import { Alert } from "@mantine/core";

/** Says that a result rests on the problem's own word, and why; nothing where it does not. */
export function SelfAttested({ reason }: { reason?: string | null }) {
  if (!reason) return null;
  return (
    <Alert color="orange" variant="outline" title="Self-attested" maw={760} mt="xs">
      Accepted on the problem’s own word: {reason}. The result stays out of team memory, shares and exports.
    </Alert>
  );
}
