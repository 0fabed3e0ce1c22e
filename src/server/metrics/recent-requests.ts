// Rates, times and failures of the last minutes, for pages that show them. Everything here has a fixed size.

const SECONDS = 300;
const SAMPLES = 1024;
const FAILURES_MAX = 256;
const MESSAGE_CHARS_MAX = 500;
const PATH_CHARS_MAX = 200;

const NOBODY = (): void => undefined;

/** A request that was answered with an error. */
export interface FailedRequest {
  readonly atMs: number;
  readonly protocol: string;
  readonly status: number;
  readonly message: string;
  /** Without its query, which may hold what nobody else should read. */
  readonly path?: string;
}

/** Milliseconds. */
export interface Times {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

/** Counts per second of the last five minutes, and the times of the last requests. */
export class Flow {
  readonly #counts = new Uint32Array(SECONDS);
  readonly #times = new Float64Array(SAMPLES);
  #second = 0;
  #taken = 0;

  add(nowMs: number, ms?: number): void {
    this.#passTo(Math.floor(nowMs / 1000));
    const at = this.#second % SECONDS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    if (ms === undefined) return;
    this.#times[this.#taken % SAMPLES] = ms;
    this.#taken += 1;
  }

  /** Per second, over the last so many seconds. */
  rate(seconds: number, nowMs: number): number {
    return this.history(seconds, nowMs).reduce((sum, count) => sum + count, 0) / seconds;
  }

  /** The count of each of the last seconds, oldest first. The second that runs is the last. */
  history(seconds: number, nowMs: number): number[] {
    this.#passTo(Math.floor(nowMs / 1000));
    return Array.from({ length: seconds }, (_, n) => {
      const second = this.#second - seconds + 1 + n;
      return second < 0 ? 0 : (this.#counts[second % SECONDS] ?? 0);
    });
  }

  times(): Times {
    const sorted = this.#times.slice(0, Math.min(this.#taken, SAMPLES)).sort();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), count: sorted.length };
  }

  /** Clears the seconds between. A clock that goes back changes nothing. */
  #passTo(second: number): void {
    const passed = Math.min(second - this.#second, SECONDS);
    for (let n = 1; n <= passed; n += 1) this.#counts[(second - passed + n) % SECONDS] = 0;
    this.#second = Math.max(this.#second, second);
  }
}

const APPENDS = new Set([
  'appendTurns',
  'appendCxdbTurn',
  'appendCxdbTurns',
  'APPEND_TURN',
  'APPEND_BATCH',
]);
const PAGES = new Set(['listTurns', 'listCxdbTurns', 'GET_LAST', 'GET_BEFORE']);
const BLOBS = new Set(['getBlob', 'GET_BLOB']);
const TYPES = new Set(['putTypeBundle']);

export class RecentRequests {
  readonly appends: Flow = new Flow();
  readonly pages: Flow = new Flow();
  readonly blobs: Flow = new Flow();
  readonly types: Flow = new Flow();
  readonly http: Flow = new Flow();
  readonly httpFailures: Flow = new Flow();
  readonly #clock: () => number;
  readonly #onFailed: (failed: FailedRequest) => void;
  readonly #failures: FailedRequest[] = [];
  readonly #failed = new Map<string, number>();
  #connections = { open: 0, total: 0 };
  #usedAtMs = 0;

  constructor(clock: () => number = Date.now, onFailed: (failed: FailedRequest) => void = NOBODY) {
    this.#clock = clock;
    this.#onFailed = onFailed;
  }

  /** Connections of the binary protocol. */
  get connections(): { readonly open: number; readonly total: number } {
    return this.#connections;
  }

  /** The time of the last answer of the binary protocol; 0 for never. */
  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  connected(change: 1 | -1): void {
    const { open, total } = this.#connections;
    this.#connections = { open: open + change, total: total + Math.max(0, change) };
  }

  request(protocol: string, kind: string, ms: number, ok: boolean): void {
    const nowMs = this.#clock();
    if (protocol === 'http') {
      this.http.add(nowMs, ms);
      if (!ok) this.httpFailures.add(nowMs);
    } else this.#usedAtMs = nowMs;
    if (APPENDS.has(kind)) this.appends.add(nowMs, ms);
    else if (PAGES.has(kind)) this.pages.add(nowMs, ms);
    else if (BLOBS.has(kind)) this.blobs.add(nowMs, ms);
    else if (TYPES.has(kind)) this.types.add(nowMs);
  }

  failed({ protocol, status, message, path }: Omit<FailedRequest, 'atMs'>): void {
    this.#failed.set(protocol, (this.#failed.get(protocol) ?? 0) + 1);
    if (this.#failures.length === FAILURES_MAX) this.#failures.shift();
    const failed = {
      atMs: this.#clock(),
      protocol,
      status,
      message: message.slice(0, MESSAGE_CHARS_MAX),
      ...(path !== undefined && { path: path.slice(0, PATH_CHARS_MAX) }),
    };
    this.#failures.push(failed);
    this.#onFailed(failed);
  }

  /** Newest first. */
  failures(limit: number): readonly FailedRequest[] {
    return this.#failures.slice(-Math.max(1, limit)).reverse();
  }

  /** All since the server began, by protocol. */
  failureCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#failed);
  }
}
