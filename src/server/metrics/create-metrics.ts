import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { BinaryHooks } from '../binary/hooks.ts';
import type { Served } from '../served.ts';
import { countChanges } from './count-changes.ts';
import { gaugeStore } from './gauge-store.ts';

export type Protocol = 'http' | 'binary';

export interface CountedRequest {
  readonly protocol: Protocol;
  /** A route, a message or a method: from a fixed set, never what a client made up. */
  readonly kind: string;
  readonly ms: number;
  readonly ok: boolean;
}

export interface Metrics {
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
  request(request: CountedRequest): void;
  connection(protocol: Protocol, change: 1 | -1): void;
  bytes(protocol: Protocol, direction: 'in' | 'out', count: number): void;
  /** A run of gc, verify, backup or another piece of upkeep. */
  upkeep(task: string, ms: number, ok: boolean): void;
  /** What the binary server shall call. */
  readonly binaryHooks: BinaryHooks;
  /** Lets go of the store. */
  close(): void;
}

export interface MetricsOptions {
  readonly served: Served;
  /** Memory, CPU and event loop of the process. Default false: they cost a timer. */
  readonly ofProcess?: boolean;
}

/** Seconds: a commit takes about a millisecond, a page less, a collection minutes. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10];

export function createMetrics({ served, ofProcess = false }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const seconds = new Histogram({
    name: 'quipu_request_duration_seconds',
    help: 'Time from a whole request to its answer, by protocol and kind.',
    labelNames: ['protocol', 'kind'] as const,
    buckets: BUCKETS,
    registers,
  });
  /** One for each protocol and kind, of which there are few. */
  const observers = new Map<string, Histogram.Internal<'protocol' | 'kind'>>();
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
  const refused = new Counter({
    name: 'quipu_connections_refused_total',
    help: 'Connections over the limit.',
    registers,
  });
  const bytesMoved = new Counter({
    name: 'quipu_network_bytes_total',
    help: 'Bytes received and sent, by protocol and direction; a request of HTTP counts when it is over.',
    labelNames: ['protocol', 'direction'] as const,
    registers,
  });
  const upkeepSeconds = new Histogram({
    name: 'quipu_upkeep_duration_seconds',
    help: 'Runs of gc, verify, backup and other upkeep that a client asked for.',
    labelNames: ['task', 'result'] as const,
    buckets: [0.1, 1, 10, 60, 600],
    registers,
  });
  const stopCounting = countChanges(registry, served.engine);
  gaugeStore(registry, served.store);
  if (ofProcess) collectDefaultMetrics({ register: registry });

  const metrics: Counted = {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    request({ protocol, kind, ms, ok }) {
      const name = `${protocol} ${kind}`;
      const known = observers.get(name) ?? seconds.labels({ protocol, kind });
      observers.set(name, known);
      known.observe(ms / 1000);
      if (!ok) failures.inc({ protocol, kind });
    },
    connection: (protocol, change) => connections.inc({ protocol }, change),
    bytes: (protocol, direction, count) => bytesMoved.inc({ protocol, direction }, count),
    upkeep: (task, ms, ok) =>
      upkeepSeconds.observe({ task, result: ok ? 'done' : 'failed' }, ms / 1000),
    close: stopCounting,
  };
  return { ...metrics, binaryHooks: binaryHooks(metrics, () => refused.inc(), bytesMoved) };
}

type Counted = Omit<Metrics, 'binaryHooks'>;

/** What is told for every request has its labels looked up once: that took longer than the counting. */
function binaryHooks(
  metrics: Counted,
  refused: () => void,
  bytesMoved: Counter<'protocol' | 'direction'>,
): BinaryHooks {
  const bytesIn = bytesMoved.labels({ protocol: 'binary', direction: 'in' });
  const bytesOut = bytesMoved.labels({ protocol: 'binary', direction: 'out' });
  return {
    opened: () => metrics.connection('binary', 1),
    closed: () => metrics.connection('binary', -1),
    refused,
    answered: ({ message, code, ms }) =>
      metrics.request({ protocol: 'binary', kind: message, ms, ok: code === 0 }),
    received: (count) => bytesIn.inc(count),
    sent: (count) => bytesOut.inc(count),
  };
}
