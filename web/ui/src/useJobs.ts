/** Jobs: the newest page asked for again and again, older ones once, and all of them where an order needs all. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { data } from "./api";
import { listJobs, type JobStatus, type JobView } from "./client";
import { merged } from "./jobTable";

const PAGE = 200;
/** More are not loaded for one table. */
export const MOST = 20_000;
const FINAL = new Set<JobStatus>(["solved", "no_gain", "unsolved", "refused", "failed", "cancelled"]);

export interface JobQuery {
  q: string;
  status: JobStatus[];
  tag: string[];
}

export function useJobs(query: JobQuery, all: boolean) {
  const ask = (cursor: string | null) => data(listJobs({ query: { ...query, limit: PAGE, cursor } }));
  const newest = useQuery({
    queryKey: ["jobs", query],
    queryFn: () => ask(null),
    refetchInterval: (found) => (found.state.data?.items.some((job) => !FINAL.has(job.status)) ? 1_500 : 5_000),
  });
  const first = newest.data?.next_cursor ?? null;
  const older = useInfiniteQuery({
    queryKey: ["older jobs", query],
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: first,
    getNextPageParam: (page) => page.next_cursor,
    enabled: all && first !== null,
    staleTime: Infinity,
    gcTime: 60_000,
  });
  const asked = JSON.stringify(query);
  // New jobs push others off the newest page: what was on it is remembered.
  const seen = useRef({ asked, jobs: new Map<string, JobView>() });
  const rows = useMemo(() => {
    if (!newest.data) return undefined;
    if (seen.current.asked !== asked) seen.current = { asked, jobs: new Map() };
    for (const page of older.data?.pages ?? []) for (const job of page.items) if (!seen.current.jobs.has(job.id)) seen.current.jobs.set(job.id, job);
    const found = merged(newest.data.items, [...seen.current.jobs.values()], first === null);
    for (const job of newest.data.items) seen.current.jobs.set(job.id, job);
    return found;
  }, [newest.data, older.data, first, asked]);
  const more = first !== null && (older.data === undefined || older.hasNextPage) && (rows?.length ?? 0) < MOST;
  const { fetchNextPage, refetch } = older;
  const loading = older.isFetching;
  const failed = older.isError;
  useEffect(() => {
    if (all && more && older.data !== undefined && !loading && !failed) void fetchNextPage();
  }, [all, more, older.data, loading, failed, fetchNextPage]);
  const next = (): void => void (older.data === undefined ? refetch() : fetchNextPage());
  return { newest, rows, more, loading, error: older.error, next };
}
