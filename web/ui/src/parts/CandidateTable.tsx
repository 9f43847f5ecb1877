/** Candidates as a sortable table that draws only the rows in sight: a thousand are an ordinary job. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import { kindOf, sorted, type Sort, type SortKey } from "../candidates";
import type { CandidateSummary } from "../client";
import { limitOf, micros, NOTHING, percent, ratio, seconds } from "../format";
import { GainMark, KindPill } from "./Pills";
import { RatiosNote } from "./RatioNote";

const ROW = 38;
const CARD = 60;
const ON_CARDS = new Set(["Round", "Verdict", "Change", "Speedup", "95 % interval"]);
interface Column {
  key: SortKey | null;
  name: string;
  width: string;
  figure?: (candidate: CandidateSummary) => string;
  /** Whether large figures come first when it is chosen. */
  down?: boolean;
}
const interval = ({ speedup }: CandidateSummary): string => (speedup?.ci95 ? `${ratio(speedup.ci95[0])} – ${ratio(speedup.ci95[1])}` : NOTHING);
const COLUMNS: Column[] = [
  { key: "step", name: "Round", width: "64px" },
  { key: "verdict", name: "Verdict", width: "116px" },
  { key: null, name: "Change", width: "minmax(150px, 1fr)" },
  { key: "median_us", name: "Median", width: "84px", figure: (one) => micros(one.median_us) },
  { key: "best_baseline", name: "Speedup", width: "92px", down: true, figure: (one) => ratio(one.speedup?.best_baseline) },
  { key: null, name: "95 % interval", width: "124px", figure: interval },
  { key: "eager", name: "× eager", width: "80px", down: true, figure: (one) => ratio(one.speedup?.eager) },
  { key: "compile", name: "× compile", width: "92px", down: true, figure: (one) => ratio(one.speedup?.compile) },
  { key: "roofline_fraction", name: "Roof", width: "74px", down: true, figure: (one) => percent(one.roofline_fraction) },
  { key: null, name: "Bottleneck", width: "112px", figure: (one) => (one.bottleneck ? limitOf(one.bottleneck) : NOTHING) },
  { key: "device_s", name: "Device", width: "96px", down: true, figure: (one) => (one.device_s > 0 ? seconds(one.device_s) : NOTHING) },
];

/** Columns that say something: a baseline nobody asked for has none, and not every profile finds a bottleneck. */
function columnsOf(candidates: CandidateSummary[], phone: boolean): Column[] {
  if (phone) return COLUMNS.filter(({ name }) => ON_CARDS.has(name));
  const measured = (key: SortKey | null): boolean => candidates.some((one) => typeof one.speedup?.[key as "eager"] === "number");
  const bound = candidates.some((one) => one.bottleneck && one.bottleneck !== "neither");
  return COLUMNS.filter(({ key, name }) => (name === "Bottleneck" ? bound : (key !== "eager" && key !== "compile") || measured(key)));
}

interface Props {
  candidates: CandidateSummary[];
  bestId: string | null;
  selected: string | null;
  select: (id: string) => void;
  /** The job has ended. */
  over: boolean;
}

export function CandidateTable({ candidates, bestId, selected, select, over }: Props) {
  const [sort, setSort] = useState<Sort>({ key: "step", down: false });
  const rows = useMemo(() => sorted(candidates, sort), [candidates, sort]);
  const phone = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  const columns = useMemo(() => columnsOf(candidates, phone), [candidates, phone]);
  const widths = { "--columns": columns.map((column) => column.width).join(" ") } as React.CSSProperties;
  const scroller = useRef<HTMLDivElement>(null);
  const row = phone ? CARD : ROW;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => row, overscan: 8 });
  const { measure } = virtual;
  useLayoutEffect(() => measure(), [row, measure]);
  return (
    <>
      <div
        className={phone ? "grid-table cards" : "grid-table"}
        ref={scroller}
        role="table"
        aria-label="Candidates"
        aria-rowcount={rows.length + 1}
        tabIndex={0}
        style={{ maxHeight: 440, ...widths }}
      >
        <div role="rowgroup" className="grid-head">
          <div role="row" aria-rowindex={1} className="grid-row" style={{ height: 36 }}>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} setSort={setSort} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="grid-body" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => (
            <Row
              key={rows[item.index]!.id}
              candidate={rows[item.index]!}
              index={item.index}
              top={item.start}
              columns={columns}
              bestId={bestId}
              selected={selected === rows[item.index]!.id}
              select={select}
              over={over}
            />
          ))}
        </div>
      </div>
      <RatiosNote measured={candidates} />
      {candidates.some((one) => one.input_sets > 1 && one.roofline_fraction !== null) && (
        <Text size="xs" className="quiet" mt={6} data-note="roof">
          Roof is that of the first input set.
        </Text>
      )}
    </>
  );
}

function Head({ column, sort, setSort }: { column: Column; sort: Sort; setSort: (sort: Sort) => void }) {
  const { key, name, figure, down = false } = column;
  const active = key !== null && sort.key === key;
  const arrow = active ? (sort.down ? " ↓" : " ↑") : "";
  const turn = (): void => setSort({ key: key!, down: active ? !sort.down : down });
  return (
    <div
      role="columnheader"
      className={figure ? "figure" : undefined}
      aria-sort={active ? (sort.down ? "descending" : "ascending") : undefined}
    >
      {key === null ? (
        name
      ) : (
        <button type="button" onClick={turn}>
          {name}
          <span aria-hidden="true">{arrow}</span>
        </button>
      )}
    </div>
  );
}

interface RowProps {
  candidate: CandidateSummary;
  index: number;
  top: number;
  columns: Column[];
  bestId: string | null;
  selected: boolean;
  select: (id: string) => void;
  over: boolean;
}

function Row({ candidate, index, top, columns, bestId, selected, select, over }: RowProps) {
  const kind = kindOf(candidate, bestId, over);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className="grid-row"
      style={{ transform: `translateY(${top}px)`, boxShadow: selected ? "inset 3px 0 var(--mantine-primary-color-filled)" : undefined }}
      onFocus={() => select(candidate.id)}
      onMouseDown={() => select(candidate.id)}
      data-candidate={candidate.id}
    >
      <div role="cell">{candidate.step + 1}</div>
      <div role="cell">
        <KindPill kind={kind}>{candidate.failed_gate ? `${candidate.failed_gate}` : undefined}</KindPill>
      </div>
      <div role="cell" title={candidate.summary}>
        <Link to={`/candidates/${candidate.id}`} data-row className="row-link">
          {candidate.summary || candidate.id}
        </Link>
      </div>
      {columns.map(
        ({ name, figure }) =>
          figure && (
            <div role="cell" className="figure" key={name}>
              {name === "Speedup" && <GainMark gain={candidate.gain} />}
              {figure(candidate)}
            </div>
          ),
      )}
    </div>
  );
}
