import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Engine } from '../../engine/engine.ts';

/** What the records of each list are called. */
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

/** Counts what is committed, whoever asked for it. The result ends it. */
export function countChanges(registry: Registry, engine: Engine): () => void {
  const registers = [registry];
  const commits = new Counter({
    name: 'quipu_commits_total',
    help: 'Commits that became durable.',
    registers,
  });
  const records = new Counter({
    name: 'quipu_records_total',
    help: 'Records that became durable: turns appended, opened and sealed, deltas, patches, contexts, log appends, documents.',
    labelNames: ['record'] as const,
    registers,
  });
  const payloadBytes = new Counter({
    name: 'quipu_payload_bytes_total',
    help: 'Payload bytes of turns that became durable, before deduplication and compression.',
    registers,
  });
  const kinds = Object.entries(LISTS).map(([list, record]) => ({
    list: list as keyof typeof LISTS,
    counter: records.labels({ record }),
  }));
  return engine.subscribe((change) => {
    commits.inc();
    for (const { list, counter } of kinds) {
      if (change[list].length > 0) counter.inc(change[list].length);
    }
    let bytes = 0;
    for (const { size } of change.turns) bytes += size;
    for (const { size } of change.sealed) bytes += size;
    if (bytes > 0) payloadBytes.inc(bytes);
  });
}
