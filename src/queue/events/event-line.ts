import { crc32, crc32Between } from '../../format/bytes.ts';
import type { QueueEvent } from './queue.ts';

// An event as a line of JSON. Commands print this line, events.jsonl holds it, and the checksum of an event is over it.

/** The keys follow the order of the columns. A line feed ends the line. */
export function toLine({ id, created_at, source, type, subtype, content }: QueueEvent): string {
  // This takes half the time of building an object, which counts when a batch is large.
  const kind = `"type":${quote(type)},"subtype":${subtype === null ? 'null' : quote(subtype)}`;
  return `{"id":${id},"created_at":${quote(created_at)},"source":${quote(source)},${kind},"content":${JSON.stringify(content)}}\n`;
}

const KNOWN_MAX = 1000;
const known = new Map<string, string>();

/** For texts that repeat in a batch: finding one takes a quarter of the time of quoting it. */
function quote(text: string): string {
  const found = known.get(text);
  if (found !== undefined) return found;
  if (known.size >= KNOWN_MAX) known.clear();
  const quoted = JSON.stringify(text);
  known.set(text, quoted);
  return quoted;
}

/** The CRC-32 of the event's line, without the line feed. */
export function sumOf(event: QueueEvent): number {
  const line = Buffer.from(toLine(event));
  return crc32Between(line, 0, line.length - 1);
}

/** Returns undefined when the line is not an event. */
export function readLine(line: Uint8Array): { event: QueueEvent; sum: number } | undefined {
  try {
    const found = JSON.parse(Buffer.from(line).toString('utf8')) as Partial<QueueEvent>;
    const { id, created_at, source, type, subtype, content } = found;
    if (!Number.isSafeInteger(id) || (id ?? 0) < 1) return undefined;
    if (![created_at, source, type, content].every((text) => typeof text === 'string'))
      return undefined;
    if (subtype !== null && typeof subtype !== 'string') return undefined;
    const event = { id, created_at, source, type, subtype, content } as QueueEvent;
    return { event, sum: crc32(line) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const CHUNK_BYTES = 1 << 20;

/** Encodes the lines of new events. Each line is made once, for its checksum and for the file. */
export class LineEncoder {
  readonly #keptMax: number;
  readonly #chunkBytes: number;
  readonly #full: Buffer[] = [];
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;
  #bytes = 0;
  /** The number of lines that are kept: the first ones. */
  kept = 0;

  /** The encoder keeps lines up to `keptMax` bytes in all. */
  constructor(keptMax: number, events: number) {
    this.#keptMax = keptMax;
    this.#chunkBytes = events === 1 ? 0 : CHUNK_BYTES;
  }

  /** Returns the checksum. */
  add(event: QueueEvent): number {
    const line = toLine(event);
    const most = line.length * 3;
    if (this.#chunk.length - this.#at < most) this.#beginChunk(most);
    const start = this.#at;
    const written = this.#chunk.write(line, start);
    this.#bytes += written;
    if (this.#bytes <= this.#keptMax) {
      this.#at += written;
      this.kept += 1;
    }
    return crc32Between(this.#chunk, start, start + written - 1);
  }

  get chunks(): readonly Buffer[] {
    return [...this.#full, this.#chunk.subarray(0, this.#at)];
  }

  #beginChunk(most: number): void {
    if (this.#at > 0) this.#full.push(this.#chunk.subarray(0, this.#at));
    this.#chunk = Buffer.allocUnsafe(Math.max(most, this.#chunkBytes));
    this.#at = 0;
  }
}
