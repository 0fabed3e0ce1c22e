import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Stats } from '../../store/maintain.ts';
import type { Store } from '../../store/store.ts';

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
