/** The generated client, told where the server is, who is calling and what an error says. */
import { client } from "./client/client.gen";

const TOKEN = "kernelwright.token";
type Listener = () => void;
const signedOut = new Set<Listener>();

/** A problem document, or why none came. `status` 0: the server cannot be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly line: number | null = null,
    readonly remedy: string | null = null,
  ) {
    super(detail);
  }
}

/** The token where the browser keeps nothing for this site (third-party storage blocked): it lasts as long as the page. */
let unkept: string | null = null;

/** What the browser's storage gives, or null where touching it is refused. */
function stored<T>(use: (kept: Storage) => T): T | null {
  try {
    return use(window.sessionStorage);
  } catch {
    return null;
  }
}

export const token = {
  read: (): string | null => stored((kept) => kept.getItem(TOKEN)) ?? unkept,
  write: (value: string): void => {
    unkept = value;
    stored((kept) => kept.setItem(TOKEN, value));
  },
  clear: (): void => {
    unkept = null;
    stored((kept) => kept.removeItem(TOKEN));
  },
};

export function onSignedOut(listener: Listener): Listener {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

/** Milliseconds by which the server's clock is ahead of this one: durations "until now" are told by the server's. */
let ahead = 0;
export const serverNow = (): number => Date.now() + ahead;

function noteTime(response: Response): void {
  const told = Date.parse(response.headers.get("date") ?? "");
  if (!Number.isNaN(told) && Math.abs(told - Date.now()) > 2_000) ahead = told - Date.now();
  else if (!Number.isNaN(told)) ahead = 0;
}

/** `fetch` with the token; rejects with `ApiError` for what is no success. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const known = token.read();
  if (known) headers.set("Authorization", `Bearer ${known}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (reason) {
    if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
    throw new ApiError(0, "The server cannot be reached. Is `kernelwright serve` running?");
  }
  noteTime(response);
  if (response.ok) return response;
  // An answer to a request sent before the token was typed says nothing about the token.
  if (response.status === 401 && known === token.read()) for (const listener of signedOut) listener();
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  const document = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  const detail = typeof document?.detail === "string" ? document.detail : `The server answered ${response.status}.`;
  const line = typeof document?.line === "number" ? document.line : null;
  const remedy = typeof document?.remedy === "string" ? document.remedy : null;
  return new ApiError(response.status, detail, line, remedy);
}

client.setConfig({
  baseUrl: "",
  throwOnError: true,
  fetch: async (input: RequestInfo | URL, init?: RequestInit) => {
    if (!(input instanceof Request)) return request(String(input), init);
    const body = input.method === "GET" || input.method === "HEAD" ? null : await input.text();
    return request(input.url, { method: input.method, headers: input.headers, body, signal: input.signal });
  },
});

/** The data of a client call; a query function's shape. */
export async function data<T>(call: Promise<{ data: T }>): Promise<NonNullable<T>> {
  return (await call).data as NonNullable<T>;
}

/** The entries of a list that is answered in one piece. */
export async function items<T>(call: Promise<{ data: { items: T[] } | undefined }>): Promise<T[]> {
  return (await call).data!.items;
}

/** Save what an address answers as a file: a link could not carry the token. */
export async function download(path: string, name: string): Promise<void> {
  const blob = await (await request(path)).blob();
  saveBlob(blob, name);
}

export function saveText(text: string, name: string): void {
  saveBlob(new Blob([text], { type: "text/plain;charset=utf-8" }), name);
}

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
