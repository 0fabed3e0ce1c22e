import type { Content } from './content.ts';
import { applyEntry, applyWrite, cleanFile, cleanFolder, ROOT } from './disk-state.ts';
import type { DiskSnapshot, NodeId, PendingEntry, PendingWrite } from './disk-state.ts';
import { Disk } from './disk.ts';
import { drawFates } from './draw-fates.ts';
import type { Fate } from './draw-fates.ts';
import { MemoryIo } from './memory-io.ts';
import { SeededRandom } from './seeded-random.ts';

// The states of a disk that a power cut can leave. Each change that no sync has covered is kept, lost, torn, replaced
// by zeros or kept by the sector, whatever happened to the others; each name is kept or lost.

/** One possible disk after the crash. */
export interface CrashImage {
  readonly disk: MemoryIo;
  /** Describes the fate of each uncertain change, for the message of a failed check. */
  story(): string;
}

/** Changes of one disk whose fate is open, oldest first, and the nodes they belong to. */
interface Uncertain {
  readonly changes: readonly Change[];
  readonly nodes: readonly { readonly node: NodeId; readonly indexes: readonly number[] }[];
}

type Change = PendingWrite | PendingEntry;

/**
 * Yields up to `limit` images of the disk in `snapshot`, the same ones for the same seed. The first has lost all it
 * could, the second has lost nothing. Equal images may come twice.
 */
export function* crashImages(
  snapshot: DiskSnapshot,
  limit: number,
  seed: number,
): Generator<CrashImage> {
  const uncertain = findUncertain(snapshot);
  for (const fates of drawFates(uncertain.changes, limit, new SeededRandom(seed))) {
    yield {
      disk: new MemoryIo(buildDisk(snapshot, uncertain, fates)),
      story: () => uncertain.changes.map((change, index) => tell(change, fates[index])).join('\n'),
    };
  }
}

/** Leaves out changes in nodes that no name can lead to after a crash. */
function findUncertain(snapshot: DiskSnapshot): Uncertain {
  const found: { change: Change; node: NodeId }[] = [];
  const seen = new Set<NodeId>([ROOT]);
  // A set is walked in the order of insertion, including items added on the way.
  for (const node of seen) {
    const state = snapshot[node];
    if (state === undefined) continue;
    for (const change of state.pending.slice(0, state.count)) found.push({ change, node });
    if (state.kind === 'file') continue;
    for (const child of state.durable.values()) seen.add(child);
    for (const { sets } of state.pending.slice(0, state.count)) {
      for (const [, child] of sets) if (child !== undefined) seen.add(child);
    }
  }
  found.sort((a, b) => a.change.seq - b.change.seq);

  const nodes = new Map<NodeId, number[]>();
  for (const [index, { node }] of found.entries()) {
    const indexes = nodes.get(node);
    if (indexes === undefined) nodes.set(node, [index]);
    else indexes.push(index);
  }
  return {
    changes: found.map(({ change }) => change),
    nodes: [...nodes].map(([node, indexes]) => ({ node, indexes })),
  };
}

function buildDisk(snapshot: DiskSnapshot, uncertain: Uncertain, fates: readonly Fate[]): Disk {
  const states = snapshot.slice();
  for (const { node, indexes } of uncertain.nodes) {
    const state = snapshot[node];
    if (state?.kind === 'file') {
      const content = state.durable.clone();
      for (const index of indexes) {
        const change = uncertain.changes[index];
        if (change !== undefined && change.do !== 'entry') leave(content, change, fates[index]);
      }
      states[node] = cleanFile(content);
    } else if (state?.kind === 'folder') {
      const names = new Map(state.durable);
      for (const index of indexes) {
        const change = uncertain.changes[index];
        if (change?.do === 'entry' && fates[index]?.do === 'keep') applyEntry(names, change);
      }
      states[node] = cleanFolder(names);
    }
  }
  return new Disk(states);
}

const SECTOR_BYTES = 512;

/** Applies `write` to `content` with the given `fate`. */
function leave(content: Content, write: PendingWrite, fate: Fate | undefined): void {
  if (fate === undefined || fate.do === 'lose') return;
  if (fate.do === 'keep' || write.do === 'truncate') return applyWrite(content, write);
  const { position, bytes } = write;
  const end = position + bytes.length;
  switch (fate.do) {
    case 'zero':
      return content.resize(Math.max(content.length, end));
    case 'tear':
      content.write(bytes.subarray(0, fate.taken), position);
      if (fate.extended) content.resize(Math.max(content.length, end));
      return undefined;
    case 'sectors': {
      const random = new SeededRandom(fate.seed);
      for (let at = position; at < end;) {
        const next = Math.min(end, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
        if (random.chance(0.5)) content.write(bytes.subarray(at - position, next - position), at);
        at = next;
      }
      return undefined;
    }
  }
}

function tell(change: Change, fate: Fate | undefined): string {
  const took = fate?.do === 'tear' ? `tear after ${fate.taken}` : (fate?.do ?? 'lose');
  switch (change.do) {
    case 'write':
      return `${took}: write ${change.path} ${change.bytes.length}@${change.position}`;
    case 'truncate':
      return `${took}: truncate ${change.path} ${change.length}`;
    case 'entry':
      return `${took}: names ${change.path} ${change.sets.map(([name, node]) => `${node === undefined ? '-' : '+'}${name}`).join(' ')}`;
  }
}
