import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash } from '../../base/brand.ts';
import { isQuipuError, orNothing } from '../../base/errors.ts';
import { given } from '../../base/given.ts';
import { hashBytes } from '../../base/hash.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { mustRead, toBlob } from '../events/chat-lines.ts';
import { segmentsLog } from '../events/names.ts';
import type { ReadLine } from '../events/read-line.ts';
import {
  inOrder,
  messagesProjection,
  toParts,
  type MessageParts,
  type MessagePart,
} from '../projections/message-part.ts';
import { addLine, emptyOverview, type Overview } from '../projections/overview.ts';
import { fold } from '../projections/projection.ts';
import { IdIndex, decodeRun, encodeRun, runLength, type IdRun } from './id-index.ts';
import {
  SEGMENTS_VERSION,
  SEGMENT_EVENTS,
  parseSegmentLine,
  segmentOf,
  foldsOf,
  splitParts,
  type SegmentLine,
  type SplitParts,
} from './segment-line.ts';

// Stored folds of the log: one line of a log of its own per 1,024 events, and blobs.
// Invariants
// - The folds are a cache: a fold that is missing, damaged or made by other rules is made again from the chat's log.
// - Segment n is made from lines n * 1024 up to (n + 1) * 1024 and from the ids of the segments before it, and from
//   nothing else. So every process makes the same segment.
// - A process that may not write keeps its folds in memory.
// - A fold that was made while events could not be read says so, and is made again once they can be.
// - Once texts were erased from the chat's log, all segments are written anew behind the old ones. A process that read
//   the log before that finds the end of this log moved, and stores nothing from its memory.

/** Events of a segment, when its fold is missing. */
type ReadSegment = (segment: number) => Promise<readonly ReadLine[]>;

/** The events after the last segment. */
export interface Tail {
  readonly parts: MessageParts;
  readonly refs: Set<string>;
  /** The first event that could not be read. */
  damaged: number | undefined;
}

export class Segments {
  readonly #engine: Engine;
  readonly #log: string;
  readonly #madeBy: string;
  readonly #readSegment: ReadSegment;
  #begin = 0;
  /** The number of segments, and of messages that began in them. */
  count = 0;
  begun = 0;
  #damaged: number | undefined;
  #index: IdIndex | undefined;
  /** Segments that could not be stored. */
  readonly #own: Map<number, SplitParts> = new Map();

  constructor(engine: Engine, id: string, rules: { upcasters: string; readSegment: ReadSegment }) {
    this.#engine = engine;
    this.#log = segmentsLog(id);
    this.#madeBy = `${SEGMENTS_VERSION} ${rules.upcasters}`.trim();
    this.#readSegment = rules.readSegment;
  }

  /** Loads the segments of a log with this many events, and returns the overview up to their end. */
  async load(events: number): Promise<Overview | undefined> {
    const lines = await ifIntact(async () => (await this.#engine.getLog(this.#log))?.lines);
    this.#begin = lines ?? 0;
    const last = await this.#readLine(this.#begin - 1);
    if (last?.made_by !== this.#madeBy) return undefined;
    const count = Math.min(last.segment + 1, Math.floor(events / SEGMENT_EVENTS));
    const line = count === last.segment + 1 ? last : await this.#readLine(last.begin + count - 1);
    const overview = line && (await this.#readOverview(line));
    if (line === undefined || overview === undefined) return undefined;
    if (line.damaged !== undefined && (await this.#isReadable(line.damaged))) return undefined;
    this.#begin = line.begin;
    this.count = count;
    this.begun = line.begun;
    this.#damaged = line.damaged;
    return overview;
  }

  async #isReadable(seq: number): Promise<boolean> {
    const lines = await this.#readSegment(segmentOf(seq));
    return lines[(seq - 1) % SEGMENT_EVENTS]?.problem?.kind !== 'unreadable';
  }

  /** Folds one more segment in. Returns false when others wrote here meanwhile: then all is to be read again. */
  async seal({ parts, refs, damaged }: Tail, overview: Overview): Promise<boolean> {
    const segment = this.count;
    this.#damaged ??= damaged;
    const split = await splitParts(parts, (id) => this.isBegun(id));
    const run = (await this.#ids()).add(split.begun.map(({ id }) => id));
    const ids = encodeRun(run);
    const blobs: BlobPut[] = [];
    const put = (value: unknown): string => putJson(blobs, value);
    const line: SegmentLine = {
      made_by: this.#madeBy,
      begin: this.#begin,
      segment,
      overview: put(overview),
      ...toFolds(split, put),
      ids: hashBytes(ids),
      begun: this.begun + split.begun.length,
      refs: [...refs],
      ...given({ damaged: this.#damaged }),
    };
    blobs.push({ hash: hashBytes(ids), bytes: ids });
    const stored = await this.#store(line, blobs);
    if (stored === 'moved') return false;
    if (stored === 'refused') this.#own.set(segment, split);
    this.count += 1;
    this.begun = line.begun;
    return true;
  }

  /** Returns whether a message began in one of the segments. */
  async isBegun(id: string): Promise<boolean> {
    return (await this.find(id)) !== undefined;
  }

  /** Returns the segment in which a message began, and its part of the message. */
  async find(id: string): Promise<{ segment: number; part: MessagePart } | undefined> {
    for (const segment of (await this.#ids()).find(id)) {
      const part = (await this.begunIn(segment)).find((begun) => begun.id === id);
      if (part !== undefined) return { segment, part };
    }
    return undefined;
  }

  async begunIn(segment: number): Promise<readonly MessagePart[]> {
    const own = this.#own.get(segment);
    if (own !== undefined) return own.begun;
    const stored = await this.#readBegun(segment);
    return stored ?? (await this.#makeAgain(segment)).begun;
  }

  async touchedIn(segment: number): Promise<readonly MessagePart[]> {
    const own = this.#own.get(segment);
    if (own !== undefined) return own.touched;
    const line = await this.#readLine(this.#begin + segment);
    if (line !== undefined && line.touches === undefined) return [];
    const stored = line?.touches && (await this.#readParts(line.touches));
    return stored || (await this.#makeAgain(segment)).touched;
  }

  /**
   * Writes all segments anew after texts were erased, with new folds in place of those that had the texts. Returns the
   * blobs that had them, of every time the segments were written.
   */
  async renew({ segments, overviews }: Erased): Promise<readonly string[]> {
    const total = (await this.#engine.getLog(this.#log))?.lines ?? 0;
    const old = new Set<string>();
    const lines: string[] = [];
    const blobs: BlobPut[] = [];
    const put = (value: unknown): string => putJson(blobs, value);
    const first = overviews ? Math.min(...segments) : Infinity;
    let overview: Overview | undefined;
    for (let at = 0; at < total; at += 1) {
      const line = await this.#readLine(at);
      if (line === undefined) continue;
      const { segment } = line;
      if (segments.has(segment)) for (const hash of foldsOf(line)) old.add(hash);
      if (segment >= first) old.add(line.overview);
      if (line.begin !== this.#begin || segment >= this.count) continue;
      if (segment >= first) {
        overview ??= await this.#overviewBefore(segment);
        overview = (await this.#readSegment(segment)).reduce(addLine, overview);
      }
      const renewed: SegmentLine = {
        ...line,
        begin: total,
        ...(segments.has(segment) && toFolds(await this.#makeAgain(segment), put)),
        ...(overview !== undefined && { overview: put(overview) }),
      };
      lines.push(JSON.stringify(renewed));
    }
    for (const { hash } of blobs) old.delete(hash);
    if (lines.length > 0) {
      const append = { do: 'append', name: this.#log, lines, expectedLines: total } as const;
      await this.#engine.commit({ blobs, logs: [append] });
      this.#begin = total;
    }
    return [...old];
  }

  async #overviewBefore(segment: number): Promise<Overview> {
    if (segment === 0) return emptyOverview();
    const line = await this.#readLine(this.#begin + segment - 1);
    const stored = line && (await this.#readOverview(line));
    if (stored !== undefined) return stored;
    const before = await this.#overviewBefore(segment - 1);
    return (await this.#readSegment(segment - 1)).reduce(addLine, before);
  }

  async #readOverview({ overview }: SegmentLine): Promise<Overview | undefined> {
    const text = await ifIntact(() => mustRead(this.#engine, overview));
    return text === undefined ? undefined : (parseBoundedJson(text) as Overview);
  }

  async #store(
    line: SegmentLine,
    blobs: readonly BlobPut[],
  ): Promise<'stored' | 'moved' | 'refused'> {
    // Behind a segment that is in memory alone there is no place in the log.
    if (this.#own.size > 0) return 'refused';
    const expectedLines = this.#begin + line.segment;
    try {
      await this.#engine.commit({
        blobs,
        logs: [{ do: 'append', name: this.#log, lines: [JSON.stringify(line)], expectedLines }],
      });
      return 'stored';
    } catch (error) {
      if (isQuipuError(error, 'HEAD_MOVED')) {
        const theirs = await this.#readLine(expectedLines);
        const isSame = theirs?.made_by === line.made_by && theirs.begin === line.begin;
        return isSame ? 'stored' : 'moved';
      }
      // Nobody waits for a cache: a process that may not write, or has no room, reads on without it.
      if (isQuipuError(error) && !isQuipuError(error, 'CLOSED')) return 'refused';
      throw error;
    }
  }

  async #makeAgain(segment: number): Promise<SplitParts> {
    const index = await this.#ids();
    const isOlder = async (id: string): Promise<boolean> => {
      const [first = segment] = index.find(id);
      if (first >= segment) return false;
      return (await this.begunIn(first)).some((begun) => begun.id === id);
    };
    return splitParts(await this.#foldAgain(segment), isOlder);
  }

  async #foldAgain(segment: number): Promise<MessageParts> {
    const lines = await this.#readSegment(segment);
    return fold(
      messagesProjection,
      lines.flatMap(({ event }) => event ?? []),
    );
  }

  async #ids(): Promise<IdIndex> {
    this.#index ??= await this.#loadIndex();
    return this.#index;
  }

  async #loadIndex(): Promise<IdIndex> {
    const runs: IdRun[] = [];
    for (let left = this.count; left > 0; left -= runLength(left - 1)) {
      const line = await this.#readLine(this.#begin + left - 1);
      const bytes = line && (await ifIntact(() => this.#engine.viewBlob(toHash(line.ids))));
      const run = bytes && decodeRun(bytes);
      if (run?.segments !== runLength(left - 1)) return this.#rebuildIndex();
      runs.unshift(run);
    }
    return new IdIndex(runs);
  }

  /** Rebuilds the index from the events, segment by segment, because runs of it are missing. */
  async #rebuildIndex(): Promise<IdIndex> {
    const index = new IdIndex();
    for (let segment = 0; segment < this.count; segment += 1) {
      // A fold without the index has messages that began before, too, which costs one needless lookup.
      const stored = await this.#readBegun(segment);
      const begun = stored ?? inOrder(await this.#foldAgain(segment));
      index.add(begun.map(({ id }) => id));
    }
    return index;
  }

  async #readBegun(segment: number): Promise<readonly MessagePart[] | undefined> {
    const line = await this.#readLine(this.#begin + segment);
    return line && this.#readParts(line.messages);
  }

  async #readParts(hash: string): Promise<readonly MessagePart[] | undefined> {
    const text = await ifIntact(() => mustRead(this.#engine, hash));
    return text === undefined
      ? undefined
      : [...toParts(parseBoundedJson(text) as readonly MessagePart[]).values()];
  }

  async #readLine(at: number): Promise<SegmentLine | undefined> {
    if (at < 0) return undefined;
    const lines = await ifIntact(() => this.#engine.readLog(this.#log, at, 1));
    return parseSegmentLine(lines?.[0]);
  }
}

/** The segments from which texts were erased, and the folds that had them. */
interface Erased {
  readonly segments: ReadonlySet<number>;
  /** Questions and answers are in the overviews, from their segment on. */
  readonly overviews: boolean;
}

/** Adds a value to the blobs of a commit, and returns its hash. */
function putJson(blobs: BlobPut[], value: unknown): string {
  const blob = toBlob(JSON.stringify(value));
  blobs.push(blob);
  return blob.hash;
}

function toFolds(
  { begun, touched }: SplitParts,
  put: (value: unknown) => string,
): Pick<SegmentLine, 'messages' | 'touches'> {
  return { messages: put(begun), ...(touched.length > 0 && { touches: put(touched) }) };
}

/** Lost or damaged data is made again, so here it counts as missing. */
function ifIntact<T>(read: () => Promise<T>): Promise<T | undefined> {
  return orNothing(read, 'CORRUPT', 'NOT_FOUND');
}
