import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Engine } from '../../engine/engine.ts';
import { Tally } from './tally.ts';

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

/** Counts all commits, whoever asked for them. Call the result to stop. */
export function countChanges(registry: Registry, engine: Engine): () => void {
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
