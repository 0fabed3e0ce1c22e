import {
  closeSync,
  fdatasync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { DriverOptions, ForkPoint, History } from './driver.ts';

interface Thread {
  readonly fd: number;
  /** Where each line begins, and where the next one will. */
  readonly starts: number[];
  /** Lines are written and synced one at a time. */
  busy: Promise<void>;
}

const COPY_BYTES = 1024 * 1024;

/**
 * One file per thread, one line per turn, a sync per append; a fork copies the lines it starts from.
 * Who opens it reads every line once, to know where they begin.
 */
export class JsonLines implements History {
  readonly #folder: string;
  readonly #sync: boolean;
  readonly #threads = new Map<number, Thread>();

  constructor(folder: string, { sync = true }: DriverOptions = {}) {
    this.#folder = folder;
    this.#sync = sync;
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) this.#load(Number.parseInt(name, 10));
  }

  async create(): Promise<number> {
    const thread = this.#threads.size + 1;
    this.#load(thread);
    return thread;
  }

  async append(thread: number, payload: Uint8Array): Promise<void> {
    const file = this.#mustGet(thread);
    file.busy = file.busy.then(() => this.#push(file, payload));
    await file.busy;
  }

  async fill(thread: number, payloads: Iterable<Uint8Array>): Promise<void> {
    const file = this.#mustGet(thread);
    let lines: Uint8Array[] = [];
    for (const payload of payloads) {
      lines.push(toLine(payload));
      if (lines.length < 1000) continue;
      writeLines(file, lines);
      lines = [];
    }
    writeLines(file, lines);
  }

  async last(thread: number, n: number): Promise<number> {
    const turns = this.#mustGet(thread).starts.length - 1;
    return this.range(thread, Math.max(0, turns - n), turns);
  }

  async values(thread: number, n: number): Promise<unknown[]> {
    const turns = this.#mustGet(thread).starts.length - 1;
    return this.#read(thread, Math.max(0, turns - n), turns);
  }

  async range(thread: number, from: number, to: number): Promise<number> {
    let bytes = 0;
    for (const payload of this.#read(thread, from, to)) bytes += JSON.stringify(payload).length;
    return bytes;
  }

  async turnAt(thread: number, depth: number): Promise<ForkPoint> {
    return { thread, depth, turn: 0n };
  }

  async fork({ thread, depth }: ForkPoint): Promise<number> {
    const from = this.#mustGet(thread);
    const fork = await this.create();
    const to = this.#mustGet(fork);
    const end = from.starts[depth + 1] ?? 0;
    for (let at = 0; at < end; at += COPY_BYTES) {
      const piece = Buffer.allocUnsafe(Math.min(COPY_BYTES, end - at));
      readSync(from.fd, piece, 0, piece.length, at);
      writeSync(to.fd, piece);
    }
    for (const start of from.starts.slice(1, depth + 2)) to.starts.push(start);
    if (this.#sync) await syncFile(to.fd);
    return fork;
  }

  async close(): Promise<void> {
    for (const { fd } of this.#threads.values()) closeSync(fd);
  }

  #read(thread: number, from: number, to: number): unknown[] {
    const { fd, starts } = this.#mustGet(thread);
    const start = starts[from] ?? 0;
    const text = Buffer.allocUnsafe((starts[to] ?? start) - start);
    readSync(fd, text, 0, text.length, start);
    const lines = text.toString('utf8').trimEnd().split('\n');
    return lines.map((line) => (JSON.parse(line) as { payload: unknown }).payload);
  }

  async #push(file: Thread, payload: Uint8Array): Promise<void> {
    writeLines(file, [toLine(payload)]);
    if (this.#sync) await syncFile(file.fd);
  }

  #load(thread: number): void {
    const fd = openSync(join(this.#folder, `${thread}.jsonl`), 'a+');
    const starts = [0];
    const size = fstatSync(fd).size;
    const piece = Buffer.allocUnsafe(COPY_BYTES);
    for (let at = 0; at < size;) {
      const got = readSync(fd, piece, 0, piece.length, at);
      const bytes = piece.subarray(0, got);
      for (let i = bytes.indexOf(10); i !== -1; i = bytes.indexOf(10, i + 1))
        starts.push(at + i + 1);
      at += got;
    }
    this.#threads.set(thread, { fd, starts, busy: Promise.resolve() });
  }

  #mustGet(thread: number): Thread {
    const file = this.#threads.get(thread);
    if (file !== undefined) return file;
    throw new RangeError(`there is no thread ${thread}`);
  }
}

/** Payloads are JSON already; the line adds what a log keeps beside them. */
function toLine(payload: Uint8Array): Uint8Array {
  return Buffer.concat([
    Buffer.from(`{"type":"chat.message","at":${Date.now()},"payload":`),
    payload,
    Buffer.from('}\n'),
  ]);
}

function writeLines(file: Thread, lines: readonly Uint8Array[]): void {
  if (lines.length === 0) return;
  writeSync(file.fd, Buffer.concat(lines));
  for (const line of lines) file.starts.push((file.starts.at(-1) ?? 0) + line.length);
}

function syncFile(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
  });
}
