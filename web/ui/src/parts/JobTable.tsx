/** Jobs as a table that draws only the rows in sight; on a phone, a list. */
import { Anchor, Button, Checkbox, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import type { JobView } from "../client";
import { ago, between, NOTHING, ratio } from "../format";
import { NAMES, rowsOf, type Arrangement, type ColumnKey, type Key, type Row } from "../jobTable";
import { GainMark, StatusPill } from "./Pills";

interface Props {
  jobs: JobView[];
  arrangement: Arrangement;
  sortBy: (key: Key) => void;
  chosen: string[];
  choose: (ids: string[]) => void;
  setTag: (tag: string) => void;
}

const WIDTHS: Record<ColumnKey, string> = {
  status: "116px", speedup: "92px", interval: "128px", rounds: "76px", model: "minmax(96px, 0.8fr)", backend: "104px", strategy: "112px",
  family: "104px", tags: "minmax(112px, 0.6fr)", submitted: "128px", duration: "108px",
};
const LEAST: Record<ColumnKey, number> = { status: 116, speedup: 92, interval: 128, rounds: 76, model: 96, backend: 104, strategy: 112, family: 104, tags: 112, submitted: 128, duration: 108 };
const FIGURES: ReadonlySet<Key> = new Set(["speedup", "interval", "rounds", "duration"]);
const DOWN: ReadonlySet<Key> = new Set(["speedup", "interval", "submitted", "duration", "rounds"]);
const ROW = 42;
const CARD = 84;

export function JobTable(props: Props) {
  const { jobs, arrangement, chosen, choose } = props;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const phone = useMediaQuery("(max-width: 760px)", false, { getInitialValueInEffect: false });
  const rows = useMemo(() => rowsOf(jobs, arrangement, closed), [jobs, arrangement, closed]);
  const place = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(place.current?.offsetTop ?? 0), [phone]);
  const virtual = useWindowVirtualizer({
    count: rows.length, overscan: 12, scrollMargin: offset,
    estimateSize: (index) => (rows[index]?.kind === "group" ? ROW : phone ? CARD : ROW),
    getItemKey: (index) => keyOf(rows[index]!, index),
  });
  const measure = virtual.measure;
  useLayoutEffect(() => measure(), [phone, rows, measure]);
  const least = 40 + 160 + arrangement.columns.reduce((sum, key) => sum + LEAST[key], 0);
  const style = { "--columns": `40px minmax(160px, 1.2fr) ${arrangement.columns.map((key) => WIDTHS[key]).join(" ")}`, "--least": `${least}px` } as React.CSSProperties;
  const toggle = (id: string): void => choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  const fold = (name: string): void => setClosed((before) => new Set(before.has(name) ? [...before].filter((one) => one !== name) : [...before, name]));
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label="Jobs" style={style}>
      <div role="table" aria-label="Jobs" aria-rowcount={rows.length + 1} className="job-table">
        {!phone && <Head {...props} />}
        <div role="rowgroup" ref={place} style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!;
            const at = { position: "absolute", left: 0, right: 0, height: item.size, transform: `translateY(${item.start - virtual.options.scrollMargin}px)` } as const;
            const shared = { key: item.key, index: item.index + 2, style: at };
            if (row.kind === "group") return <GroupRow {...shared} key={item.key} row={row} fold={fold} />;
            const own = { job: row.job, chosen: chosen.includes(row.job.id), toggle };
            return phone ? <Card {...shared} key={item.key} {...own} /> : <Line {...shared} key={item.key} {...own} columns={arrangement.columns} setTag={props.setTag} />;
          })}
        </div>
      </div>
    </div>
  );
}

const keyOf = (row: Row, index: number): string => (row.kind === "group" ? `group ${row.name}` : `${row.job.id} ${index}`);

function Head({ arrangement: { columns, sort }, sortBy }: Props) {
  return (
    <div role="rowgroup">
      <div role="row" aria-rowindex={1} className="job-row job-head">
        <span role="columnheader">
          <span className="unseen">Compare</span>
        </span>
        {(["problem", ...columns] as Key[]).map((key) => {
          const active = sort.key === key;
          return (
            <span key={key} role="columnheader" className={FIGURES.has(key) ? "figure" : undefined} aria-sort={active ? (sort.down ? "descending" : "ascending") : undefined}>
              <button type="button" onClick={() => sortBy(key)}>
                {NAMES[key]}
                <span aria-hidden="true">{active ? (sort.down ? " ↓" : " ↑") : ""}</span>
              </button>
            </span>
          );
        })}
      </div>
    </div>
  );
}

/** The order after a click on a column's head. */
export const turned = ({ key, down }: Arrangement["sort"], clicked: Key): Arrangement["sort"] => ({ key: clicked, down: key === clicked ? !down : DOWN.has(clicked) });

interface RowProps {
  index: number;
  style: React.CSSProperties;
}

function GroupRow({ row, fold, index, style }: RowProps & { row: Extract<Row, { kind: "group" }>; fold: (name: string) => void }) {
  return (
    <div role="row" aria-rowindex={index} className="job-group" style={style}>
      <span role="cell">
        <button type="button" aria-expanded={!row.closed} onClick={() => fold(row.name)}>
          <span aria-hidden="true">{row.closed ? "▸" : "▾"}</span> {row.name}
        </button>{" "}
        <span className="quiet">
          {row.count} {row.count === 1 ? "job" : "jobs"}
          {row.best && `, best ${ratio(row.best.best_speedup)}`}
        </span>
      </span>
    </div>
  );
}

interface JobProps extends RowProps {
  job: JobView;
  chosen: boolean;
  toggle: (id: string) => void;
}

const Choice = ({ job, chosen, toggle }: Pick<JobProps, "job" | "chosen" | "toggle">) => (
  <Checkbox size="xs" aria-label={`Compare ${job.problem} ${job.id}`} checked={chosen} onChange={() => toggle(job.id)} />
);

function Line({ job, index, style, chosen, toggle, columns, setTag }: JobProps & { columns: readonly ColumnKey[]; setTag: (tag: string) => void }) {
  return (
    <div role="row" aria-rowindex={index} className="job-row" style={style}>
      <span role="cell">
        <Choice job={job} chosen={chosen} toggle={toggle} />
      </span>
      <span role="cell">
        <Anchor component={Link} to={`/jobs/${job.id}`} data-row fw={600} size="sm" c="inherit" title={job.problem}>
          {job.problem}
        </Anchor>
      </span>
      {columns.map((key) => (
        <span key={key} role="cell" className={FIGURES.has(key) ? "figure" : undefined} title={key === "submitted" ? job.created_at : undefined}>
          {CELLS[key](job, setTag)}
        </span>
      ))}
    </div>
  );
}

function Card({ job, index, style, chosen, toggle }: JobProps) {
  return (
    <div role="row" aria-rowindex={index} className="job-card" style={style}>
      <span role="cell">
        <Choice job={job} chosen={chosen} toggle={toggle} />
      </span>
      <span role="cell" style={{ minWidth: 0 }}>
        <Anchor component={Link} to={`/jobs/${job.id}`} data-row fw={600} c="inherit" truncate display="block">
          {job.problem}
        </Anchor>
        <Text size="xs" className="quiet" lineClamp={2} component="span">
          {job.model} · {job.backend} on {job.device} · {rounds(job)} rounds · {ago(job.created_at)}
        </Text>
      </span>
      <span role="cell" style={{ textAlign: "right" }}>
        <GainMark gain={job.best_gain} />
        <b>{ratio(job.best_speedup)}</b>
        <br />
        <StatusPill status={job.status} gain={job.best_gain} />
      </span>
    </div>
  );
}

const rounds = (job: JobView): string => `${Math.min(job.steps_done, job.budget.rounds ?? job.steps_done)} / ${job.budget.rounds}`;

const CELLS: Record<ColumnKey, (job: JobView, setTag: (tag: string) => void) => React.ReactNode> = {
  status: (job) => <StatusPill status={job.status} gain={job.best_gain} />,
  speedup: (job) => (
    <>
      <GainMark gain={job.best_gain} />
      <b>{ratio(job.best_speedup)}</b>
    </>
  ),
  interval: (job) => (job.best_ci95 ? `${ratio(job.best_ci95[0])} – ${ratio(job.best_ci95[1])}` : NOTHING),
  rounds,
  model: (job) => job.model,
  backend: (job) => `${job.backend} on ${job.device}`,
  strategy: (job) => job.strategy,
  family: (job) => job.analysis?.family ?? NOTHING,
  tags: (job, setTag) => (
    <span title={job.tags.join(", ")}>
      {job.tags.slice(0, 1).map((tag) => (
        <Button key={tag} size="compact-xs" variant="default" onClick={() => setTag(tag)} maw={84} mr={4}>
          {tag}
        </Button>
      ))}
      {job.tags.length > 1 && <span className="quiet">+{job.tags.length - 1}</span>}
    </span>
  ),
  submitted: (job) => ago(job.created_at),
  duration: (job) => (job.started_at ? between(job.started_at, job.finished_at) : NOTHING),
};
