/**
 * A job's events, each once and in order, for as long as somebody looks.
 *
 * The log so far comes in one answer, the rest by stream. A broken stream is taken up again behind the last event that
 * was seen; an event that comes twice is dropped, and a gap is filled from the log, so that a restarted server, a
 * sleeping laptop or a proxy that drops lines loses nothing.
 */
import { ApiError } from "./api";
import { SseParser } from "./sse";

export interface JobEvent {
  job_id: string;
  seq: number;
  kind: string;
  data: Record<string, unknown>;
  at: string;
}

export type Connection = "connecting" | "live" | "reconnecting" | "polling" | "ended" | "gone" | "refused";

export interface LiveState {
  events: readonly JobEvent[];
  connection: Connection;
  /** Why it is gone, refused or reconnecting. */
  reason: string | null;
}

export interface LiveOptions {
  request: (path: string, init?: RequestInit) => Promise<Response>;
  /** Runs soon, once for many events: `requestAnimationFrame` in a browser. */
  schedule?: (work: () => void) => void;
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const PAGE = 5000;
const WAITS = [200, 500, 1000, 2000, 4000];
/** The server sends a sign of life every 15 s. */
const SILENCE_MS = 40_000;
/** The head of a stream comes at once and a first sign of life with it, or a proxy keeps them back. */
const HEAD_MS = 10_000;
const POLL_MS = 1000;

export class LiveJob {
  private events: JobEvent[] = [];
  private state: LiveState = { events: [], connection: "connecting", reason: null };
  private listeners = new Set<() => void>();
  private abort: AbortController | null = null;
  private pending = false;
  /** Whether this browser reads streams, and whatever stands between it and the server lets them through. */
  private streams = typeof TextDecoderStream === "function" && typeof AbortSignal.any === "function";
  private readonly schedule: (work: () => void) => void;
  private readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;

  constructor(
    private readonly jobId: string,
    private readonly options: LiveOptions,
  ) {
    this.schedule = options.schedule ?? ((work) => requestAnimationFrame(work));
    this.wait = options.wait ?? sleep;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.start();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  };

  snapshot = (): LiveState => this.state;

  private start(): void {
    this.abort = new AbortController();
    void this.run(this.abort.signal);
  }

  private stop(): void {
    this.abort?.abort();
    this.abort = null;
  }

  private get last(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  private get finished(): boolean {
    return this.events.at(-1)?.kind === "job.finished";
  }

  private async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const before = this.last;
      try {
        await this.catchUp(signal);
        const over = this.finished || (await this.follow(signal));
        if (over) return this.tell("ended");
      } catch (error) {
        if (signal.aborted) return;
        // A token that has run out is asked for beside the page, which then goes on; a job that is gone stays gone.
        if (error instanceof ApiError && [404, 410].includes(error.status)) return this.tell("gone", error.message);
        if (error instanceof ApiError && error.status === 403) return this.tell("refused", error.message);
        this.tell("reconnecting", error instanceof Error ? error.message : null);
      }
      if (signal.aborted) return;
      failures = this.last > before ? 0 : failures + 1;
      if (this.state.connection === "live") this.tell("reconnecting");
      await this.wait(WAITS[Math.min(failures, WAITS.length - 1)] ?? 4000, signal);
    }
  }

  /** The log behind the last event seen. */
  private async catchUp(signal: AbortSignal): Promise<void> {
    for (;;) {
      const path = `/api/v1/jobs/${this.jobId}/log?after=${this.last}&limit=${PAGE}`;
      const page = (await (await this.options.request(path, { signal })).json()) as { items: JobEvent[]; next_cursor: string | null };
      page.items.forEach((event) => this.add(event));
      if (page.next_cursor === null) return;
    }
  }

  /** Follow the stream to its end; true when that was the job's. */
  private async follow(signal: AbortSignal): Promise<boolean> {
    if (!this.streams) return this.poll(signal);
    const quiet = new AbortController();
    const both = AbortSignal.any([signal, quiet.signal]);
    const headers = { Accept: "text/event-stream", "Last-Event-ID": String(this.last) };
    let heard = false;
    // A proxy that keeps everything back until the end, headers too, gives no sign of life either.
    const listen = <T>(sign: Promise<T>, most: number): Promise<T> => {
      const alarm = setTimeout(() => ((this.streams = heard), quiet.abort()), most);
      return sign.finally(() => clearTimeout(alarm));
    };
    const response = await listen(this.options.request(`/api/v1/jobs/${this.jobId}/events`, { headers, signal: both }), HEAD_MS);
    if (response.status === 204) return true;
    if (!response.body) {
      this.streams = false;
      return this.poll(signal);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new SseParser();
    for (;;) {
      const { done, value } = await listen(reader.read(), heard ? SILENCE_MS : HEAD_MS);
      if (done) return this.finished;
      if (!heard) this.tell("live");
      heard = true;
      for (const sent of parser.push(value)) {
        const event = JSON.parse(sent.data) as JobEvent;
        if (event.seq > this.last + 1) await this.catchUp(signal);
        this.add(event);
      }
      if (this.finished) {
        void reader.cancel();
        return true;
      }
    }
  }

  /** Where nothing can be streamed: ask again and again. */
  private async poll(signal: AbortSignal): Promise<boolean> {
    this.tell("polling");
    while (!this.finished) {
      await this.wait(POLL_MS, signal);
      await this.catchUp(signal);
    }
    return true;
  }

  private add(event: JobEvent): void {
    if (event.seq !== this.last + 1) return;
    this.events.push(event);
    this.publish();
  }

  private tell(connection: Connection, reason: string | null = null): void {
    this.state = { ...this.state, connection, reason };
    this.publish();
  }

  private publish(): void {
    if (this.pending) return;
    this.pending = true;
    this.schedule(() => {
      this.pending = false;
      this.state = { ...this.state, events: this.events.slice() };
      this.listeners.forEach((listener) => listener());
    });
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
