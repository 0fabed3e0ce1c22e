import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Engine } from '../../engine/engine.ts';
import type { BinaryHooks } from '../request/request.ts';
import type { Served } from '../calls/call-handler.ts';
import { LiveSessions } from './live-sessions.ts';
import { RecentRequests } from './recent-requests.ts';
import type { Stats } from '../../store/maintain.ts';
import type { Store } from '../../store/store.ts';

/** The label for the records of each list. */
const LISTS = {
  turns: 'turn',
  opened: 'turn_opened',
  sealed: 'turn_sealed',
  deltas: 'delta',
  patches: 'patch',
  contexts: 'context',
  logs: 'log',
  docs: 'doc',
} as const;

export type Protocol = 'http' | 'binary';

export interface CountedRequest {
  readonly protocol: Protocol;
  /** A route, a message or a method: from a fixed set, never a name that a client made up. */
  readonly kind: string;
  readonly ms: number;
  readonly ok: boolean;
}

export interface Metrics {
  /** The metrics in the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
  request(request: CountedRequest): void;
  connection(protocol: Protocol, change: 1 | -1): void;
  bytes(protocol: Protocol, direction: 'in' | 'out', count: number): void;
  /** Counts a run of gc, verify, backup or another maintenance task. */
  upkeep(task: string, ms: number, ok: boolean): void;
  /** Rates, times and errors of the last minutes. */
  readonly recent: RecentRequests;
  /** Clients of the binary protocol that are connected. */
  readonly sessions: LiveSessions;
  /** The hooks that the binary server calls. */
  readonly binaryHooks: BinaryHooks;
  /** Releases the store. */
  close(): void;
}

export interface MetricsOptions {
  readonly served: Served;
  /** Adds memory, CPU and event loop of the process. Default false: these metrics cost a timer. */
  readonly ofProcess?: boolean;
}

/** Seconds: a commit takes about a millisecond, a page less, a collection minutes. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10];

export function createMetrics({ served, ofProcess = false }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const seconds = new Durations({
    name: 'quipu_request_duration_seconds',
    help: 'Time from a whole request to its answer, by protocol and kind.',
    labels: ['protocol', 'kind'],
    buckets: BUCKETS,
  });
  const failures = new Counter({
    name: 'quipu_request_failures_total',
    help: 'Requests that were answered with an error.',
    labelNames: ['protocol', 'kind'] as const,
    registers,
  });
  const connections = new Gauge({
    name: 'quipu_connections',
    help: 'Connections that are open now.',
    labelNames: ['protocol'] as const,
    registers,
  });
  const refused = countRefused(registers);
  const bytes = countBytes(registry);
  const upkeepSeconds = timeUpkeep(registers);
  const stopCounting = countChanges(registry, served.engine);
  gaugeStore(registry, served.store);
  if (ofProcess) collectDefaultMetrics({ register: registry });

  const sessions = new LiveSessions();
  const recent = new RecentRequests(Date.now, (failed) => sessions.failed(failed));

  function request(protocol: Protocol, kind: string, ms: number, ok: boolean): void {
    seconds.observe(protocol, kind, ms / 1000);
    recent.request(protocol, kind, ms, ok);
    if (!ok) failures.inc({ protocol, kind });
  }

  function binaryConnection(change: 1 | -1): void {
    connections.inc({ protocol: 'binary' }, change);
    recent.connected(change);
  }

  return {
    text: async () => `${seconds.text()}\n\n${await registry.metrics()}`,
    contentType: registry.contentType,
    request: ({ protocol, kind, ms, ok }) => request(protocol, kind, ms, ok),
    connection: (protocol, change) => connections.inc({ protocol }, change),
    bytes: (protocol, direction, count) => bytes.moved.inc({ protocol, direction }, count),
    upkeep: (task, ms, ok) =>
      upkeepSeconds.observe({ task, result: ok ? 'done' : 'failed' }, ms / 1000),
    recent,
    sessions,
    binaryHooks: {
      opened: () => binaryConnection(1),
      closed: (session) => {
        binaryConnection(-1);
        sessions.closed(session);
      },
      ...sessions.hooks,
      refused: () => refused.inc(),
      answered: ({ session, message, code, ms }) => {
        sessions.used(session.id);
        request('binary', message, ms, code === 0);
        if (code !== 0) recent.failed({ protocol: 'binary', status: code, message });
      },
      received: (count) => bytes.binaryIn.add(count),
      sent: (count) => bytes.binaryOut.add(count),
    },
    close: stopCounting,
  };
}

function countRefused(registers: Registry[]): Counter {
  const name = 'quipu_connections_refused_total';
  return new Counter({ name, help: 'Connections over the limit.', registers });
}

function timeUpkeep(registers: Registry[]): Histogram<'task' | 'result'> {
  return new Histogram({
    name: 'quipu_upkeep_duration_seconds',
    help: 'Runs of gc, verify, backup and other upkeep that a client asked for.',
    labelNames: ['task', 'result'] as const,
    buckets: [0.1, 1, 10, 60, 600],
    registers,
  });
}

interface CountedBytes {
  readonly moved: Counter<'protocol' | 'direction'>;
  /** Bytes of the binary protocol, counted with every read and every write. */
  readonly binaryIn: Tally;
  readonly binaryOut: Tally;
}

function countBytes(registry: Registry): CountedBytes {
  const binaryIn = new Tally();
  const binaryOut = new Tally();
  const moved = new Counter({
    name: 'quipu_network_bytes_total',
    help: 'Bytes received and sent, by protocol and direction; a request of HTTP counts when it is over.',
    labelNames: ['protocol', 'direction'] as const,
    registers: [registry],
    collect() {
      binaryIn.tell(this.labels({ protocol: 'binary', direction: 'in' }));
      binaryOut.tell(this.labels({ protocol: 'binary', direction: 'out' }));
    },
  });
  return { moved, binaryIn, binaryOut };
}

/** Counts all commits, whoever asked for them. Call the result to stop. */
function countChanges(registry: Registry, engine: Engine): () => void {
  const registers = [registry];
  const commits = new Tally();
  const payloadBytes = new Tally();
  const kinds = Object.entries(LISTS).map(([list, record]) => ({
    list: list as keyof typeof LISTS,
    record,
    tally: new Tally(),
  }));
  new Counter({
    name: 'quipu_commits_total',
    help: 'Commits that became durable.',
    registers,
    collect() {
      commits.tell(this);
    },
  });
  new Counter({
    name: 'quipu_records_total',
    help: 'Records that became durable: turns appended, opened and sealed, deltas, patches, contexts, log appends, documents.',
    labelNames: ['record'] as const,
    registers,
    collect() {
      for (const { record, tally } of kinds) tally.tell(this.labels({ record }));
    },
  });
  new Counter({
    name: 'quipu_payload_bytes_total',
    help: 'Payload bytes of turns that became durable, before deduplication and compression.',
    registers,
    collect() {
      payloadBytes.tell(this);
    },
  });
  return engine.subscribe((change) => {
    commits.add(1);
    for (const { list, tally } of kinds) tally.add(change[list].length);
    for (const { size } of change.turns) payloadBytes.add(size);
    for (const { size } of change.sealed) payloadBytes.add(size);
  });
}

/**
 * A number that is counted with every request, and passed to prom-client when somebody asks. Calling the counters of
 * prom-client each time took a microsecond of each request.
 */
class Tally {
  #untold = 0;

  add(count: number): void {
    this.#untold += count;
  }

  /** Adds the count since the last call to `counter`; does nothing when the count is zero. */
  tell(counter: { inc(count: number): void }): void {
    if (this.#untold > 0) counter.inc(this.#untold);
    this.#untold = 0;
  }
}

/** Measuring costs a walk through the store's folder, so a scrape that comes sooner gets the same answer. */
const FRESH_MS = 5000;

/** The help and the value of each gauge, by its name. */
const SHOWN: Readonly<Record<string, readonly [help: string, value: (stats: Stats) => number]>> = {
  quipu_turns: ['Turns in the store.', (stats) => stats.turns],
  quipu_contexts: ['Contexts in the store.', (stats) => stats.contexts],
  quipu_patches: ['Patches in the store.', (stats) => stats.patches],
  quipu_blobs: ['Distinct blobs in the store.', (stats) => stats.blobs],
  quipu_logical_bytes: [
    'Payload bytes of all turns, each counted as often as it is used.',
    (stats) => stats.logicalBytes,
  ],
  quipu_blob_bytes: ['Raw bytes of all distinct blobs.', (stats) => stats.blobBytes],
  quipu_stored_bytes: ['Bytes that blobs take on disk, compressed.', (stats) => stats.storedBytes],
  quipu_disk_bytes: ['Bytes that the whole store takes on disk.', (stats) => stats.diskBytes],
  quipu_sharing_ratio: [
    'Payload bytes of all turns, per byte of distinct blobs.',
    (stats) => stats.sharingRatio,
  ],
  quipu_compression_ratio: [
    'Bytes of distinct blobs, per byte that they take on disk.',
    (stats) => stats.compressionRatio,
  ],
  quipu_journal_frames: [
    'Frames that an opening after a crash would replay; a checkpoint brings it to 0.',
    (stats) => stats.journal?.frames ?? 0,
  ],
  quipu_journal_broken: [
    '1 after a failed sync: nothing is acknowledged until the store is opened again.',
    (stats) => (stats.journal?.broken === true ? 1 : 0),
  ],
  quipu_damaged_places: [
    'Places in the store that are known to be damaged.',
    (stats) => stats.damage.length,
  ],
};

function gaugeStore(registry: Registry, store: Store): void {
  let asked: { readonly atMs: number; readonly stats: Promise<Stats> } | undefined;

  function readStats(): Promise<Stats> {
    const nowMs = performance.now();
    if (asked !== undefined && nowMs - asked.atMs < FRESH_MS) return asked.stats;
    const stats = store.maintain.stats();
    asked = { atMs: nowMs, stats };
    stats.catch(() => {
      asked = undefined;
    });
    return stats;
  }

  for (const [name, [help, value]] of Object.entries(SHOWN)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect(): Promise<void> {
        this.set(value(await readStats()));
      },
    });
  }
}

// A histogram of durations by two labels, like the one of prom-client and printed in the same way. The histogram of
// prom-client took 2 µs of every counted request: it joins the labels to a key each time, and looks buckets up by their
// text.

export interface DurationsOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly [string, string];
  /** Upper bounds in seconds, rising. */
  readonly buckets: readonly number[];
}

/** Values of labels must come from a fixed set: each value that was ever seen stays. */
export class Durations {
  readonly #options: DurationsOptions;
  readonly #series = new Map<string, Map<string, Series>>();

  constructor(options: DurationsOptions) {
    this.#options = options;
  }

  observe(first: string, second: string, seconds: number): void {
    const known = this.#series.get(first)?.get(second);
    (known ?? this.#addSeries(first, second)).observe(seconds);
  }

  /** The histogram in the text format of Prometheus. */
  text(): string {
    const { name, help, labels } = this.#options;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [first, bySecond] of this.#series) {
      for (const [second, series] of bySecond) {
        const shared = `${labels[0]}=${quote(first)},${labels[1]}=${quote(second)}`;
        lines.push(...series.lines(name, shared));
      }
    }
    return lines.join('\n');
  }

  #addSeries(first: string, second: string): Series {
    const bySecond = this.#series.get(first) ?? new Map<string, Series>();
    const series = new Series(this.#options.buckets);
    this.#series.set(first, bySecond.set(second, series));
    return series;
  }
}

class Series {
  readonly #buckets: readonly number[];
  /** The number of values in each bucket and in none before it. The last entry counts values above all buckets. */
  readonly #counts: number[];
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let at = 0;
    for (const bucket of this.#buckets) {
      if (value <= bucket) break;
      at += 1;
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  lines(name: string, labels: string): string[] {
    let count = 0;
    const buckets = this.#counts.map((own, at) => {
      count += own;
      return `${name}_bucket{le="${this.#buckets[at] ?? '+Inf'}",${labels}} ${count}`;
    });
    return [...buckets, `${name}_sum{${labels}} ${this.#sum}`, `${name}_count{${labels}} ${count}`];
  }
}

/** JSON escapes the same characters as a label's value, and in the same way. */
function quote(value: string): string {
  return JSON.stringify(value);
}
