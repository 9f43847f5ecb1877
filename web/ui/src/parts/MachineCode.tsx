/** What the compiler made of a candidate's own functions, beside the source; fetched when it is looked at. */
import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, useMemo, useState } from "react";
import { request, saveText } from "../api";
import type { Disassembly, EvaluationReport } from "../client";
import { linesBefore, parseListing } from "../machineCode";
import { Later } from "./Later";
import { Asked, Empty } from "./States";

const Code = lazy(() => import("./Code"));
const LinkedCode = lazy(() => import("./LinkedCode"));

interface Props {
  id: string;
  source: string;
  report: EvaluationReport;
}

export function MachineCode({ id, source, report }: Props) {
  const listing = report.listing ?? null;
  if (!listing) return <Empty title="No machine code">Only compiled candidates have machine code, and only since Kernelwright records it.</Empty>;
  if (!listing.hash) return <Empty title="No machine code">{listing.note}</Empty>;
  return <Kept id={id} source={source} listing={listing} hot={report.profile?.lines ?? []} />;
}

type Hot = NonNullable<NonNullable<EvaluationReport["profile"]>["lines"]>;

const FORMS: Record<string, { name: string; ending: string }> = {
  assembly: { name: "Assembly", ending: "s" },
  sass: { name: "GPU instructions (SASS)", ending: "sass" },
  ptx: { name: "PTX", ending: "ptx" },
};

function Kept({ id, source, listing, hot }: { id: string; source: string; listing: Disassembly; hot: Hot }) {
  const [form, setForm] = useState(listing.form);
  const { name, ending } = FORMS[form] ?? { name: form, ending: "txt" };
  const text = useQuery({
    queryKey: ["listing", id, form],
    queryFn: async () => (await request(`/api/v1/candidates/${id}/listing${form === "ptx" ? "?form=ptx" : ""}`)).text(),
    staleTime: Infinity,
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" className="break" style={{ flex: "1 1 300px" }}>
          {name} of {listing.functions.length} {listing.functions.length === 1 ? "function" : "functions"}
          {form === "ptx" ? ", by Triton." : `, by ${listing.tool}${listing.whole_module ? "." : " from the evaluated library."}`}
          {listing.cut && " Truncated."}
          {listing.note && ` Note: ${listing.note}.`}
        </Text>
        {listing.ptx_hash && (
          <SegmentedControl
            aria-label="Form of the machine code"
            data={[
              { value: "sass", label: "SASS" },
              { value: "ptx", label: "PTX" },
            ]}
            value={form}
            onChange={setForm}
          />
        )}
        {text.data !== undefined && (
          <Button variant="default" onClick={() => saveText(text.data, `${id}.${ending}`)}>
            Download
          </Button>
        )}
      </Group>
      <Asked query={text}>
        {(known) => (
          <Later height={400}>
            <Beside key={form} source={source} stored={known} hot={hot} whole={listing.whole_module ?? false} />
          </Later>
        )}
      </Asked>
    </Stack>
  );
}

const NOTHING: ReadonlyMap<number, number> = new Map();

/** Source and instructions side by side where lines are known, else the instructions alone. */
function Beside({ source, stored, hot, whole }: { source: string; stored: string; hot: Hot; whole: boolean }) {
  const listing = useMemo(() => parseListing(stored), [stored]);
  const before = useMemo(() => (whole ? 0 : linesBefore(source)), [source, whole]);
  const heat = useMemo(() => new Map(before === null ? [] : hot.map(({ line, share }) => [line + before, share])), [hot, before]);
  const hottest = hot[0]?.line ?? null;
  const [chosen, setChosen] = useState<{ line: number | null; from: "source" | "machine" | null }>({ line: hottest, from: null });
  const shown = useMemo(() => (chosen.line === null ? [] : (listing.shownAt.get(chosen.line) ?? [])), [listing, chosen.line]);
  const own = useMemo(() => (chosen.line === null || before === null ? [] : [chosen.line + before]), [chosen.line, before]);
  if (listing.lineAt.size === 0 || before === null) {
    return (
      <>
        <Code text={listing.text} label="Machine code of the candidate" plain />
        <Text size="xs" className="quiet">
          {listing.lineAt.size === 0 ? "Its lines were not recorded" : "Its source is not one text of the module"}, so it is not linked with the source.
        </Text>
      </>
    );
  }
  return (
    <>
      <Text size="sm" role="status" data-linked={chosen.line ?? ""}>
        {chosen.line === null
          ? "Select a line on either side to see what it became, or what it came from."
          : `Line ${chosen.line + before}: ${shown.length === 0 ? "no instructions of its own" : `${shown.length} ${shown.length === 1 ? "instruction" : "instructions"}`}.`}
        {heat.size > 0 && " Shares are of the samples in the candidate's own code."}
      </Text>
      <div className="beside">
        <LinkedCode text={source} label="Source of the candidate, linked" heat={heat} marked={own} sight={chosen.from === "source" ? null : (own[0] ?? before + 1)} choose={(line) => setChosen({ line: line > before ? line - before : null, from: "source" })} />
        <LinkedCode text={listing.text} label="Machine code of the candidate" plain heat={NOTHING} marked={shown} sight={chosen.from === "machine" ? null : (shown[0] ?? null)} choose={(line) => setChosen({ line: listing.lineAt.get(line) ?? null, from: "machine" })} />
      </div>
    </>
  );
}
