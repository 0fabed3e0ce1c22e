import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Engine } from '../../engine/engine.ts';

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
  return engine.subscribe((change) => {
    commits.inc();
    for (const [record, { length }] of [
      ['turn', change.turns],
      ['turn_opened', change.opened],
      ['turn_sealed', change.sealed],
      ['delta', change.deltas],
      ['patch', change.patches],
      ['context', change.contexts],
      ['log', change.logs],
      ['doc', change.docs],
    ] as const) {
      if (length > 0) records.inc({ record }, length);
    }
    let bytes = 0;
    for (const { size } of change.turns) bytes += size;
    for (const { size } of change.sealed) bytes += size;
    if (bytes > 0) payloadBytes.inc(bytes);
  });
}
