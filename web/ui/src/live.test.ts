import { expect, test, vi } from "vitest";
import { ApiError } from "./api";
import { LiveJob, type JobEvent, type LiveState } from "./live";
import { SseParser } from "./sse";

const event = (seq: number, kind = "step.started"): JobEvent => ({ job_id: "job-1", seq, kind, data: {}, at: "" });
const sent = (one: JobEvent): string => `id: ${one.seq}\nevent: ${one.kind}\ndata: ${JSON.stringify(one)}\n\n`;

/** A server whose log grows, and whose streams are what a test says. */
class Server {
  log: JobEvent[] = [];
  streams: (string[] | Error | 204)[] = [];
  asked: string[] = [];

  request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    if (path.includes("/log")) {
      const after = Number(new URL(path, "http://x").searchParams.get("after"));
      return Response.json({ items: this.log.filter((one) => one.seq > after), next_cursor: null });
    }
    this.asked.push(new Headers(init.headers).get("Last-Event-ID") ?? "");
    const next = this.streams.shift() ?? new ApiError(0, "away");
    if (next instanceof Error) throw next;
    if (next === 204) return new Response(null, { status: 204 });
    const bytes = new TextEncoder();
    return new Response(
      new ReadableStream({
        start(controller) {
          next.forEach((chunk) => controller.enqueue(bytes.encode(chunk)));
          controller.close();
        },
      }),
    );
  };
}

async function watched(server: Server): Promise<LiveState> {
  const job = new LiveJob("job-1", {
    request: server.request,
    schedule: (work) => queueMicrotask(work),
    wait: async () => undefined,
  });
  return new Promise((resolve) => {
    const stop = job.subscribe(() => {
      if (["ended", "gone", "refused"].includes(job.snapshot().connection)) {
        queueMicrotask(() => (stop(), resolve(job.snapshot())));
      }
    });
  });
}

const seqs = (state: LiveState): number[] => state.events.map((one) => one.seq);

test("the log comes first and the stream goes on behind it", async () => {
  const server = new Server();
  server.log = [event(1), event(2)];
  server.streams = [[sent(event(3)), sent(event(4, "job.finished"))]];
  expect(seqs(await watched(server))).toEqual([1, 2, 3, 4]);
  expect(server.asked).toEqual(["2"]);
});

test("an event that comes twice is shown once and a gap is filled from the log", async () => {
  const server = new Server();
  server.streams = [[sent(event(1)), sent(event(1))], [sent(event(5, "job.finished"))]];
  const state = watched(server);
  server.log = [1, 2, 3, 4].map((seq) => event(seq));
  server.log.push(event(5, "job.finished"));
  expect(seqs(await state)).toEqual([1, 2, 3, 4, 5]);
});

test("a server that is away and comes back loses nothing", async () => {
  const server = new Server();
  server.streams = [
    [sent(event(1)), "id: 2\nevent: step.st"],
    new ApiError(0, "away"),
    new ApiError(503, "starting"),
    [sent(event(2)), sent(event(3, "job.finished"))],
  ];
  expect(seqs(await watched(server))).toEqual([1, 2, 3]);
  expect(server.asked).toEqual(["0", "1", "1", "1"]);
});

test("a job that was deleted while it was open is told as gone", async () => {
  const server = new Server();
  server.streams = [new ApiError(404, "no job job-1")];
  const { connection, reason } = await watched(server);
  expect([connection, reason]).toEqual(["gone", "no job job-1"]);
});

test("a job that one may no longer see is not told as deleted", async () => {
  const server = new Server();
  server.streams = [new ApiError(403, "you are not a member of this team")];
  const { connection, reason } = await watched(server);
  expect([connection, reason]).toEqual(["refused", "you are not a member of this team"]);
});

test("a token that runs out while a job is watched costs no event: it goes on behind the last one", async () => {
  const server = new Server();
  server.streams = [[sent(event(1))], new ApiError(401, "send the server's token"), [sent(event(2, "job.finished"))]];
  expect(seqs(await watched(server))).toEqual([1, 2]);
});

test("a browser that cannot read a stream asks for the log instead", async () => {
  const server = new Server();
  server.log = [event(1)];
  server.request = ((inner) => async (path: string, init?: RequestInit) => {
    if (path.includes("/log")) return inner(path, init);
    server.log.push(event(2), event(3, "job.finished"));
    return new Response(null, { status: 200 });
  })(server.request);
  expect(seqs(await watched(server))).toEqual([1, 2, 3]);
});

test("a browser without decoding streams is never asked to read one", async () => {
  vi.stubGlobal("TextDecoderStream", undefined);
  const server = new Server();
  server.log = [event(1), event(2, "job.finished")];
  server.streams = [new ApiError(0, "nobody should have asked for the stream")];
  expect(seqs(await watched(server))).toEqual([1, 2]);
  const late = new Server();
  late.log = [event(1)];
  late.streams = [new ApiError(0, "nobody should have asked for the stream")];
  const state = watched(late);
  late.log.push(event(2), event(3, "job.finished"));
  expect(seqs(await state)).toEqual([1, 2, 3]);
  expect(late.asked).toEqual([]);
  vi.unstubAllGlobals();
});

test("a stream whose head comes and whose body is held back is never called live, and polled", async () => {
  vi.useFakeTimers();
  const server = new Server();
  server.log = [event(1)];
  server.request = ((inner) => async (path: string, init?: RequestInit) => {
    if (path.includes("/log")) return inner(path, init);
    const held = new ReadableStream({
      start: (controller) => init!.signal!.addEventListener("abort", () => controller.error(init!.signal!.reason)),
    });
    setTimeout(() => server.log.push(event(2), event(3, "job.finished")), 9_000);
    return new Response(held);
  })(server.request);
  const seen = new Set<string>();
  const job = new LiveJob("job-1", { request: server.request, schedule: (work) => queueMicrotask(work), wait: async () => undefined });
  const stop = job.subscribe(() => seen.add(job.snapshot().connection));
  await vi.advanceTimersByTimeAsync(11_000);
  expect(job.snapshot().connection).toBe("ended");
  expect(seqs(job.snapshot())).toEqual([1, 2, 3]);
  expect(seen).not.toContain("live");
  stop();
  vi.useRealTimers();
});

test("a finished job whose last event was never written ends by 204", async () => {
  const server = new Server();
  server.log = [event(1)];
  server.streams = [204];
  expect((await watched(server)).connection).toBe("ended");
});

test("an event cut into pieces anywhere is read whole, comments and all", () => {
  const text = `: ping\n\nid: 7\r\nevent: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\n`;
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new SseParser();
    const found = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
    expect(found).toEqual([{ id: "7", event: "a", data: '{"x":\n1}' }]);
  }
});
