/** What the compiler made of a candidate's own functions; fetched when it is looked at. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy } from "react";
import { request, saveText } from "../api";
import type { Disassembly } from "../client";
import { Later } from "./Later";
import { Asked, Empty } from "./States";

const Code = lazy(() => import("./Code"));

export function MachineCode({ id, listing }: { id: string; listing: Disassembly | null }) {
  if (!listing) return <Empty title="No machine code">Only compiled candidates have machine code, and only since Kernelwright records it.</Empty>;
  if (!listing.hash) return <Empty title="No machine code">{listing.note}</Empty>;
  return <Kept id={id} listing={listing} />;
}

function Kept({ id, listing }: { id: string; listing: Disassembly }) {
  const text = useQuery({
    queryKey: ["listing", id],
    queryFn: async () => (await request(`/api/v1/candidates/${id}/listing`)).text(),
    staleTime: Infinity,
  });
  return (
    <Asked query={text}>
      {(known) => (
        <Stack>
          <Group justify="space-between">
            <Text size="sm" className="break" style={{ flex: "1 1 300px" }}>
              {listing.form === "sass" ? "GPU instructions (SASS)" : "Assembly"} of {listing.functions.length} {listing.functions.length === 1 ? "function" : "functions"}, by{" "}
              {listing.tool} from the evaluated library.
              {listing.cut && " Truncated."}
            </Text>
            <Button variant="default" onClick={() => saveText(known, `${id}.${listing.form === "sass" ? "sass" : "s"}`)}>
              Download
            </Button>
          </Group>
          <Later height={400}>
            <Code text={known} label="Machine code of the candidate" plain />
          </Later>
        </Stack>
      )}
    </Asked>
  );
}
