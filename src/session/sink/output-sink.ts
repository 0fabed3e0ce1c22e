import { invalid, messageOf } from '../../base/errors.ts';
import { checkString, shown } from '../../base/text.ts';
import { countLineBreaks, ColumnCap, OutputWindow } from './output-window.ts';
import { SanitizeStream, scanBytes, unfinishedBytes } from './sanitize-stream.ts';
import { Spill, type SpillEnd, type OpenSpill } from './spill.ts';

export interface SinkOptions {
  /** Opens the file for the whole output once it does not fit. The sink calls this at most once, and only then. */
  readonly artifact?: OpenSpill;
  /** The number of bytes shown; default 51,200. */
  readonly spillThreshold?: number;
  /** The number of them that may be from the beginning; default 0. At most half. */
  readonly headBytes?: number;
  /** Longer lines are cut to this many bytes; default 0, no limit. */
  readonly maxColumns?: number;
  /** Receives the sanitised text as it comes, uncut. */
  readonly onChunk?: (text: string) => void;
  /** Joins the text for `onChunk` so that it is called at most once in this time; default 0. */
  readonly chunkThrottleMs?: number;
  /** The file keeps the beginning and the end within this many bytes; default 0, no limit. */
  readonly artifactMaxBytes?: number;
  /** Lets SIXEL pictures through. */
  readonly allowSixel?: boolean;
}

export interface OutputSummary {
  /** The text to show, with the notice in front. */
  readonly output: string;
  /** True when more came than is shown. Lines that were cut do not count: see `columnTruncatedLines`. */
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Counts the sanitised text. */
  readonly totalBytes: number;
  readonly outputLines: number;
  /** Counts neither notice nor marker. */
  readonly outputBytes: number;
  readonly elidedLines: number;
  readonly elidedBytes: number;
  readonly columnTruncatedLines: number;
  readonly columnDroppedBytes: number;
  readonly columnMax: number;
  /** Present only when every byte of the output is in the file: read it at `artifact://<id>`. */
  readonly artifactId?: string;
  /** The step of writing the file that failed. The shown text is right all the same. */
  readonly artifactError?: string;
  /** The first error that `onChunk` threw. The output is complete all the same. */
  readonly chunkError?: string;
}

/** Tells a reader which part is missing, and where the whole output is. Undefined when nothing is missing. */
export function describeOutput(summary: OutputSummary): string | undefined {
  const { truncated, columnTruncatedLines, artifactId } = summary;
  if (!truncated && columnTruncatedLines === 0) return undefined;
  const what = truncated
    ? `Showing ${summary.outputBytes} of ${summary.totalBytes} bytes`
    : `${columnTruncatedLines} long lines were cut to ${summary.columnMax} bytes`;
  const where =
    artifactId === undefined ? 'The rest was not kept' : `All of it: artifact://${artifactId}`;
  return `${what}. ${where}`;
}

/** The number of bytes shown of an output, by default. */
const DEFAULT_MAX_BYTES = 51_200;

const DONE: Promise<void> = Promise.resolve();
const EMPTY: Uint8Array = new Uint8Array();
const NOT_SCANNED = { isClean: false, lineBreaks: 0 };

// The output of a program: a bounded text to show, and the whole of it in a file once it does not fit.
// Invariants
// - The result is a function of the bytes alone, however they were cut into pieces.
// - The file holds the sanitised text from its first byte, or there is no file and no id.
// - Memory is bounded by the limits, as long as the caller waits for the promise of each `push`.

export class OutputSink {
  readonly #options: SinkOptions;
  readonly #threshold: number;
  /** Up to three bytes of a character that is not finished. */
  #fragment: Uint8Array = EMPTY;
  readonly #sanitizer: SanitizeStream;
  readonly #teller: ChunkTeller | undefined;
  #window: OutputWindow;
  #columns: ColumnCap | undefined;
  /** The text so far, until there is a file for it or it is certain that there will be none. */
  #early: Uint8Array[] | undefined;
  #spill: Spill | undefined;
  #totalBytes = 0;
  #lineBreaks = 0;
  #state: 'open' | 'dumped' | 'disposed' = 'open';
  #dumping: Promise<OutputSummary> | undefined;

  constructor(options: SinkOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#threshold = options.spillThreshold ?? DEFAULT_MAX_BYTES;
    this.#sanitizer = new SanitizeStream(options.allowSixel ?? false);
    this.#window = new OutputWindow(this.#threshold, options.headBytes ?? 0);
    this.#columns = this.#newColumns();
    this.#early = options.artifact === undefined ? undefined : [];
    const { onChunk, chunkThrottleMs = 0 } = options;
    if (onChunk !== undefined) this.#teller = new ChunkTeller(onChunk, chunkThrottleMs);
  }

  /** Takes the chunk at once. Wait for the result before the next one, or a slow disk fills the memory. */
  push(chunk: string | Uint8Array): Promise<void> {
    if (this.#state !== 'open') return DONE;
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      throw invalid('chunk', `must be a text or bytes, got ${typeof chunk}`);
    }
    if (typeof chunk === 'string') this.#pushText(this.#takeFragment() + chunk);
    else this.#pushBytes(chunk);
    return this.#spill?.room() ?? DONE;
  }

  /** Shows `text` instead of the output so far. The file, if there is one, keeps its content. */
  replace(text: string): void {
    if (this.#state !== 'open') return;
    checkString(text, 'text');
    this.#teller?.discard();
    this.#fragment = EMPTY;
    this.#sanitizer.end();
    this.#window = new OutputWindow(this.#threshold, 0);
    this.#columns = this.#newColumns();
    this.#totalBytes = 0;
    this.#lineBreaks = 0;
    if (this.#early !== undefined) this.#early = [];
    this.#pushText(text);
  }

  /** Returns the result, with the notice in front. Later pushes are ignored. */
  dump(notice?: string): Promise<OutputSummary> {
    if (notice !== undefined) checkString(notice, 'notice');
    this.#dumping ??= this.#dump(notice);
    return this.#dumping;
  }

  /** For a program that was given up: no file is left, nothing stays open. Idempotent. */
  async dispose(): Promise<void> {
    if (this.#state === 'open') this.#state = 'disposed';
    this.#teller?.discard();
    this.#early = undefined;
    if (this.#dumping === undefined) await this.#spill?.abort();
    else await this.#dumping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #dump(notice: string | undefined): Promise<OutputSummary> {
    if (this.#state === 'open') {
      this.#pushText(this.#takeFragment());
      this.#take(this.#sanitizer.end());
      this.#window.push(this.#columns?.end() ?? EMPTY);
      this.#mirror();
      this.#teller?.flush();
      this.#state = 'dumped';
    }
    this.#early = undefined;
    const end = (await this.#spill?.end()) ?? {};
    return this.#summary(notice, end);
  }

  #summary(notice: string | undefined, end: SpillEnd): OutputSummary {
    const view = this.#window.view(this.#lineBreaks);
    const { maxColumns = 0 } = this.#options;
    const front = notice === undefined || notice === '' ? '' : `[${notice}]\n`;
    return {
      output: front + view.text,
      truncated: this.#window.isTruncated,
      totalLines: this.#totalBytes === 0 ? 0 : this.#lineBreaks + 1,
      totalBytes: this.#totalBytes,
      outputLines: view.text === '' ? 0 : view.text.split('\n').length,
      outputBytes: view.bytes,
      elidedLines: view.elidedLines,
      elidedBytes: view.elidedBytes,
      columnTruncatedLines: this.#columns?.truncatedLines ?? 0,
      columnDroppedBytes: this.#columns?.droppedBytes ?? 0,
      columnMax: maxColumns,
      ...end,
      ...(this.#teller?.error !== undefined && { chunkError: this.#teller.error }),
    };
  }

  #pushBytes(chunk: Uint8Array): void {
    const whole = this.#fragment.length === 0 ? chunk : Buffer.concat([this.#fragment, chunk]);
    const end = whole.length - unfinishedBytes(whole);
    // The caller may write to the chunk from now on, so this copies the part to keep.
    const bytes = whole.subarray(0, end);
    this.#fragment = end === whole.length ? EMPTY : Buffer.from(whole.subarray(end));
    const { isClean, lineBreaks } = this.#sanitizer.isIdle ? scanBytes(bytes) : NOT_SCANNED;
    if (!isClean) {
      this.#pushText(toText(bytes));
      return;
    }
    this.#teller?.push(toText(bytes));
    this.#takeBytes(bytes, lineBreaks);
  }

  #takeFragment(): string {
    const text = toText(this.#fragment);
    this.#fragment = EMPTY;
    return text;
  }

  #pushText(text: string): void {
    this.#take(this.#sanitizer.push(text));
  }

  #take(text: string): void {
    if (text === '') return;
    this.#teller?.push(text);
    const bytes = Buffer.from(text, 'utf8');
    this.#takeBytes(bytes, countLineBreaks(bytes));
  }

  #takeBytes(bytes: Uint8Array, lineBreaks: number): void {
    if (bytes.length === 0) return;
    this.#totalBytes += bytes.length;
    this.#lineBreaks += lineBreaks;
    if (this.#spill === undefined) this.#early?.push(Buffer.from(bytes));
    else this.#spill.push(bytes);
    this.#window.push(this.#columns?.push(bytes) ?? bytes);
    this.#mirror();
  }

  /** Begins the file as soon as the shown text is not everything. */
  #mirror(): void {
    if (this.#spill !== undefined || this.#early === undefined) return;
    if (!this.#window.isTruncated && (this.#columns?.truncatedLines ?? 0) === 0) return;
    const { artifact, artifactMaxBytes = 0 } = this.#options;
    if (artifact === undefined) return;
    this.#spill = new Spill(artifact, artifactMaxBytes);
    for (const bytes of this.#early) this.#spill.push(bytes);
    this.#early = undefined;
  }

  #newColumns(): ColumnCap | undefined {
    const { maxColumns = 0 } = this.#options;
    return maxColumns === 0 ? undefined : new ColumnCap(maxColumns);
  }
}

function toText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('utf8');
}

function checkOptions(options: SinkOptions): void {
  const { spillThreshold = 0, headBytes = 0, maxColumns = 0 } = options;
  const { chunkThrottleMs = 0, artifactMaxBytes = 0 } = options;
  const amounts = { spillThreshold, headBytes, maxColumns, chunkThrottleMs, artifactMaxBytes };
  for (const [name, amount] of Object.entries(amounts)) {
    if (Number.isFinite(amount) && amount >= 0) continue;
    throw invalid(name, `must be a number from 0, got ${shown(amount)}`);
  }
  for (const name of ['onChunk', 'artifact'] as const) {
    const value: unknown = options[name];
    if (value === undefined || typeof value === 'function') continue;
    throw invalid(name, `must be a function, got ${typeof value}`);
  }
}

/**
 * Passes text to a listener as it comes, at most once in `throttleMs`, and loses none of it. An error of the listener
 * is kept in `error`, and stops nothing.
 */
class ChunkTeller {
  readonly #tell: (text: string) => void;
  readonly #throttleMs: number;
  #pending = '';
  #lastMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** The first error that the listener threw. */
  error: string | undefined;

  constructor(tell: (text: string) => void, throttleMs: number) {
    this.#tell = tell;
    this.#throttleMs = throttleMs;
  }

  push(text: string): void {
    if (text === '') return;
    this.#pending += text;
    this.#tellWhenDue();
  }

  /** A timer may fire before its time, so the clock is asked again. */
  #tellWhenDue(): void {
    const waitMs = this.#lastMs + this.#throttleMs - performance.now();
    if (waitMs <= 0) return this.flush();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tellWhenDue();
    }, Math.ceil(waitMs));
  }

  flush(): void {
    const text = this.#pending;
    this.discard();
    if (text === '') return;
    this.#lastMs = performance.now();
    try {
      this.#tell(text);
    } catch (error) {
      this.error ??= messageOf(error);
    }
  }

  discard(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = '';
  }
}
