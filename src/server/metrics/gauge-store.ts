import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Stats } from '../../store/maintain.ts';
import type { Store } from '../../store/store.ts';

/** Measuring costs a walk through the store's folder, so a scrape that comes sooner gets the same answer. */
const FRESH_MS = 5000;

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly value: (stats: Stats) => number;
}

const SHOWN: readonly Shown[] = [
  { name: 'quipu_turns', help: 'Turns in the store.', value: (stats) => stats.turns },
  { name: 'quipu_contexts', help: 'Contexts in the store.', value: (stats) => stats.contexts },
  { name: 'quipu_patches', help: 'Patches in the store.', value: (stats) => stats.patches },
  { name: 'quipu_blobs', help: 'Distinct blobs in the store.', value: (stats) => stats.blobs },
  {
    name: 'quipu_logical_bytes',
    help: 'Payload bytes of all turns, each counted as often as it is used.',
    value: (stats) => stats.logicalBytes,
  },
  {
    name: 'quipu_blob_bytes',
    help: 'Raw bytes of all distinct blobs.',
    value: (stats) => stats.blobBytes,
  },
  {
    name: 'quipu_stored_bytes',
    help: 'Bytes that blobs take on disk, compressed.',
    value: (stats) => stats.storedBytes,
  },
  {
    name: 'quipu_disk_bytes',
    help: 'Bytes that the whole store takes on disk.',
    value: (stats) => stats.diskBytes,
  },
  {
    name: 'quipu_sharing_ratio',
    help: 'Payload bytes of all turns, per byte of distinct blobs.',
    value: (stats) => stats.sharingRatio,
  },
  {
    name: 'quipu_compression_ratio',
    help: 'Bytes of distinct blobs, per byte that they take on disk.',
    value: (stats) => stats.compressionRatio,
  },
  {
    name: 'quipu_journal_frames',
    help: 'Frames that an opening after a crash would replay; a checkpoint brings it to 0.',
    value: (stats) => stats.journal?.frames ?? 0,
  },
  {
    name: 'quipu_journal_broken',
    help: '1 after a failed sync: nothing is acknowledged until the store is opened again.',
    value: (stats) => (stats.journal?.broken === true ? 1 : 0),
  },
  {
    name: 'quipu_damaged_places',
    help: 'Places in the store that are known to be damaged.',
    value: (stats) => stats.damage.length,
  },
];

export function gaugeStore(registry: Registry, store: Store): void {
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

  for (const { name, help, value } of SHOWN) {
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
