/** Server-Sent Events out of a byte stream: `EventSource` can neither send a token nor tell a 404 from a lost line. */

export interface Sent {
  id: string;
  event: string;
  data: string;
}

/** Feeds on text as it comes; gives whole events, and what is cut off at the end waits for the rest. */
export class SseParser {
  private rest = "";
  private fields: { id: string; event: string; data: string[] } = { id: "", event: "message", data: [] };

  push(chunk: string): Sent[] {
    const lines = (this.rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    const found: Sent[] = [];
    for (const line of lines) {
      if (line !== "") {
        this.take(line);
        continue;
      }
      if (this.fields.data.length > 0) {
        found.push({ id: this.fields.id, event: this.fields.event, data: this.fields.data.join("\n") });
      }
      this.fields = { id: "", event: "message", data: [] };
    }
    return found;
  }

  private take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.fields.data.push(value);
    else if (name === "id" || name === "event") this.fields[name] = value;
  }
}
