/** The list of jobs as a table of choice: columns, order, groups and named views, all of them in the address. */
import type { JobView } from "./client";

export const COLUMNS = ["status", "speedup", "interval", "rounds", "model", "backend", "strategy", "family", "tags", "submitted", "duration"] as const;
export type ColumnKey = (typeof COLUMNS)[number];
export const NAMES: Record<ColumnKey | "problem", string> = {
  problem: "Problem", status: "Status", speedup: "Speedup", interval: "95 % interval", rounds: "Rounds", model: "Model", backend: "Backend",
  strategy: "Strategy", family: "Family", tags: "Tags", submitted: "Submitted", duration: "Duration",
};
export const USUAL: readonly ColumnKey[] = ["status", "speedup", "interval", "rounds", "model", "backend", "tags", "submitted", "duration"];
export const GROUPS = ["problem", "status", "model", "backend", "strategy", "family", "tag"] as const;
export type Group = (typeof GROUPS)[number];
export type Key = ColumnKey | "problem";

export interface Arrangement {
  columns: readonly ColumnKey[];
  sort: { key: Key; down: boolean };
  group: Group | null;
}

const NEWEST: Arrangement["sort"] = { key: "submitted", down: true };

/** What an address asks for; what it cannot mean is left out. */
export function arrangementOf(params: URLSearchParams): Arrangement {
  const asked = (params.get("columns") ?? "").split(",").filter((one): one is ColumnKey => (COLUMNS as readonly string[]).includes(one));
  const sort = params.get("sort") ?? "";
  const key = sort.replace(/^-/, "") as Key;
  const known = (COLUMNS as readonly string[]).includes(key) || key === "problem";
  const group = params.get("group") as Group | null;
  return {
    columns: asked.length > 0 ? COLUMNS.filter((one) => asked.includes(one)) : USUAL,
    sort: known && sort !== "" ? { key, down: sort.startsWith("-") } : NEWEST,
    group: group !== null && GROUPS.includes(group) ? group : null,
  };
}

/** The address's parameters for an arrangement: only what is not as usual. */
export function parametersOf({ columns, sort, group }: Arrangement): Record<string, string | null> {
  const usual = columns.length === USUAL.length && columns.every((one) => USUAL.includes(one));
  const newest = sort.key === NEWEST.key && sort.down === NEWEST.down;
  return { columns: usual || columns.length === 0 ? null : columns.join(","), sort: newest ? null : `${sort.down ? "-" : ""}${sort.key}`, group };
}

/** Whether a page of the newest jobs is not enough to show it rightly. */
export const needsAll = ({ sort, group }: Arrangement): boolean => group !== null || sort.key !== NEWEST.key || !sort.down;

export const durationOf = (job: JobView): number | null =>
  job.started_at && job.finished_at ? Date.parse(job.finished_at) - Date.parse(job.started_at) : null;

type Value = number | string | null;
const VALUES: Record<Key, (job: JobView) => Value> = {
  problem: (job) => job.problem,
  status: (job) => job.status,
  speedup: (job) => job.best_speedup,
  interval: (job) => job.best_ci95?.[0] ?? null,
  rounds: (job) => job.steps_done,
  model: (job) => job.model,
  backend: (job) => `${job.backend} on ${job.device}`,
  strategy: (job) => job.strategy,
  family: (job) => job.analysis?.family ?? null,
  tags: (job) => job.tags.join(", ") || null,
  submitted: (job) => Date.parse(job.created_at),
  duration: durationOf,
};

/** Sorted; what has no value comes last either way, and equals stay newest first. */
export function sortedJobs(jobs: readonly JobView[], { key, down }: Arrangement["sort"]): JobView[] {
  const value = VALUES[key];
  return jobs
    .map((job) => ({ job, at: value(job), made: Date.parse(job.created_at) }))
    .sort((left, right) => {
      const [a, b] = [left.at, right.at];
      if (a === null || b === null) return a === b ? right.made - left.made : a === null ? 1 : -1;
      const order = typeof a === "string" || typeof b === "string" ? collator.compare(String(a), String(b)) : a - b;
      return (down ? -order : order) || right.made - left.made;
    })
    .map(({ job }) => job);
}
const collator = new Intl.Collator("en", { numeric: true });

export type Row = { kind: "group"; name: string; count: number; best: JobView | null; closed: boolean } | { kind: "job"; job: JobView };

const groupsOf = (job: JobView, group: Group): string[] => {
  if (group === "tag") return job.tags.length > 0 ? [...job.tags] : ["no tags"];
  return [String(VALUES[group](job) ?? "not known")];
};

/** Jobs under the names of their groups, biggest groups first; a job with several tags is in each. */
export function rowsOf(jobs: readonly JobView[], arrangement: Arrangement, closed: ReadonlySet<string>): Row[] {
  const ordered = sortedJobs(jobs, arrangement.sort);
  const { group } = arrangement;
  if (group === null) return ordered.map((job) => ({ kind: "job", job }));
  const groups = new Map<string, JobView[]>();
  for (const job of ordered) {
    for (const name of groupsOf(job, group)) {
      const there = groups.get(name);
      if (there) there.push(job);
      else groups.set(name, [job]);
    }
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length || collator.compare(a[0], b[0])).flatMap(([name, members]): Row[] => {
    const head: Row = { kind: "group", name, count: members.length, best: fastest(members), closed: closed.has(name) };
    return head.closed ? [head] : [head, ...members.map((job): Row => ({ kind: "job", job }))];
  });
}

export function fastest(jobs: readonly JobView[]): JobView | null {
  return jobs.reduce<JobView | null>((best, job) => (job.best_speedup !== null && job.best_speedup > (best?.best_speedup ?? 0) ? job : best), null);
}

/** The newest page over what was loaded before: newer figures win, and what is gone from the newest page is gone. */
export function merged(newest: readonly JobView[], older: readonly JobView[], whole: boolean): JobView[] {
  const end = newest.at(-1);
  const known = new Set(newest.map((job) => job.id));
  const since = end ? Date.parse(end.created_at) : -Infinity;
  const rest = whole ? [] : older.filter((job) => !known.has(job.id) && (!end || Date.parse(job.created_at) <= since));
  return [...newest, ...sortedJobs(rest, NEWEST)];
}

export interface SavedView {
  name: string;
  /** The address's parameters. */
  search: string;
}
const KEY = "kernelwright.views";
type Kept = Pick<Storage, "getItem" | "setItem">;

/** Views saved in this browser; none where it keeps nothing or something else is there. */
export function savedViews(storage: () => Kept): SavedView[] {
  try {
    const found: unknown = JSON.parse(storage().getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((one): one is SavedView => typeof one?.name === "string" && typeof one?.search === "string") : [];
  } catch {
    return [];
  }
}

/** Keep them; false where the browser does not permit it. */
export function keepViews(storage: () => Kept, views: readonly SavedView[]): boolean {
  try {
    storage().setItem(KEY, JSON.stringify(views));
    return true;
  } catch {
    return false;
  }
}
