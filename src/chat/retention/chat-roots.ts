import { toHash } from '../../base/brand.ts';
import { corrupt } from '../../base/errors.ts';
import { eachDoc } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Root, RootSource } from '../../engine/roots.ts';
import {
  openArchive,
  readPieceList,
  logLines,
  readLines,
  readPages,
  type ChatLines,
} from '../events/chat-lines.ts';
import { isHeld, parseHeld, readMeta, type Archive } from '../events/documents.ts';
import { HELD_FOLDER, eventsLog, segmentsLog } from '../events/names.ts';
import { Upcasters } from '../events/read-line.ts';
import { walkChatIds } from '../handle/info.ts';
import {
  SEGMENT_EVENTS,
  parseSegmentLine,
  refsIn,
  type SegmentLine,
} from '../segments/segment-line.ts';

const PAGE = 1000;

/** Yields payloads that went to blobs, attachments, archives, and the folds of segments. */
export function chatRoots(engine: Engine, clock: () => number): RootSource {
  return {
    kind: 'chats',
    async *roots(): AsyncGenerator<Root, void, undefined> {
      // Held blobs come first: when one is released, the chat that needs it has been written to.
      yield* heldRoots(engine, clock());
      for await (const id of walkChatIds(engine)) {
        for await (const hash of blobsOf(engine, id)) yield { blob: toHash(hash), of: id };
      }
    },
    *rootsIn({ docs }): Generator<Root, void, undefined> {
      for (const { name, content } of docs) {
        if (!name.startsWith(HELD_FOLDER)) continue;
        for (const blob of parseHeld(content).hashes) yield { blob };
      }
    },
  };
}

async function* heldRoots(engine: Engine, nowMs: number): AsyncGenerator<Root, void, undefined> {
  for await (const { content } of eachDoc(engine, HELD_FOLDER)) {
    const held = parseHeld(content);
    if (isHeld(held, nowMs)) for (const blob of held.hashes) yield { blob };
  }
}

/** Yields every blob that a chat needs, or is faster with. Throws CORRUPT when that cannot be known. */
async function* blobsOf(engine: Engine, id: string): AsyncGenerator<string, void, undefined> {
  const archive = (await readMeta(engine, id))?.meta.archive;
  if (archive !== undefined) yield* archiveBlobs(engine, archive);
  let known = 0;
  for await (const line of keptSegments(engine, id)) {
    yield* [line.overview, line.messages, line.ids, ...line.refs];
    if (line.touches !== undefined) yield line.touches;
    // The line was made while events could not be read. The blobs of those events are not in it, so all events are
    // read. So are the events of a segment that no line is about.
    if (line.damaged === undefined && line.segment === known) known += 1;
  }
  const lines = await linesOf(engine, id, archive);
  yield* refsFrom(id, lines, known * SEGMENT_EVENTS);
}

/** Returns whether the line names every blob that the events of its segment name. This reads all of them. */
export async function namesAll(engine: Engine, id: string, line: SegmentLine): Promise<boolean> {
  const lines = await linesOf(engine, id, (await readMeta(engine, id))?.meta.archive);
  const first = line.segment * SEGMENT_EVENTS;
  const events = await readLines(lines, new Upcasters(), first, SEGMENT_EVENTS);
  const named = new Set(line.refs);
  return events.length === SEGMENT_EVENTS && refsIn(events).every((hash) => named.has(hash));
}

async function linesOf(
  engine: Engine,
  id: string,
  archive: Archive | undefined,
): Promise<ChatLines> {
  return archive === undefined ? logLines(engine, id) : openArchive(engine, archive);
}

async function* archiveBlobs(
  engine: Engine,
  { hash }: Pick<Archive, 'hash'>,
): AsyncGenerator<string, void, undefined> {
  yield hash;
  for (const piece of await readPieceList(engine, hash)) yield piece.hash;
}

/** Yields the segments that count: those from the beginning that the last one names. */
async function* keptSegments(
  engine: Engine,
  id: string,
): AsyncGenerator<SegmentLine, void, undefined> {
  const name = segmentsLog(id);
  const total = (await engine.getLog(name))?.lines ?? 0;
  const [end] = await engine.readLog(name, Math.max(0, total - 1), 1);
  const last = parseSegmentLine(end);
  if (last === undefined) return;
  for (let from = last.begin; from < total; from += PAGE) {
    for (const text of await engine.readLog(name, from, Math.min(PAGE, total - from))) {
      const line = parseSegmentLine(text);
      if (line !== undefined) yield line;
    }
  }
}

async function* refsFrom(
  id: string,
  lines: ChatLines,
  first: number,
): AsyncGenerator<string, void, undefined> {
  for await (const page of readPages(lines, new Upcasters(), first)) {
    const damaged = page.find(({ problem }) => problem?.kind === 'unreadable');
    if (damaged?.problem !== undefined) {
      // Nobody can know the blobs that such a line names, so nothing may be removed.
      const { seq, message } = damaged.problem;
      const what = `event ${seq} of chat ${id} cannot be read, so what it needs is not known: ${message}`;
      const file = eventsLog(id);
      throw corrupt(file, `${what}; restore it, or export the chat and remove it`);
    }
    yield* refsIn(page);
  }
}
