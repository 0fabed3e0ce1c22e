import { exists, isQuipuError, notFound, type QuipuError } from '../../base/errors.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Engine } from '../../engine/engine.ts';
import {
  openArchive,
  logLines,
  measureLog,
  readLines,
  type ChatLines,
  type Line,
} from '../events/chat-lines.ts';
import { knownTypes, newMeta, readMeta, type StoredMeta } from '../events/documents.ts';
import type { ChatProblem } from '../events/event.ts';
import type { ReadLine, Upcasters } from '../events/read-line.ts';
import { partOf, addPart } from '../projections/message-part.ts';
import { addLine, emptyOverview, type Overview } from '../projections/overview.ts';
import { SEGMENT_EVENTS, refsIn, splitParts, type SplitParts } from '../segments/segment-line.ts';
import { Segments, type Tail } from '../segments/segments.ts';

// A chat as far as this process has read it: the folds of its segments, and a fold of the events after them. Every call
// begins by reading the new events, so a view is never older than its caller. Others read its fields and change none.

export class ChatView {
  readonly id: string;
  readonly #engine: Engine;
  readonly #upcasters: Upcasters;
  readonly #turns: OneAtATime<'refresh'> = new OneAtATime();
  #stored: StoredMeta | undefined;
  #lines: ChatLines;
  #archive: string | undefined;
  /** The size of the log. */
  bytes = 0;
  /** Damage of the log as a whole. While there is some, nothing can be appended. */
  logDamage: readonly ChatProblem[] = [];
  /** The number of events in the log, all of them folded. */
  events = 0;
  overview: Overview = emptyOverview();
  #tail: Tail = newTail();
  segments: Segments;
  #isLoaded = false;

  constructor(engine: Engine, id: string, upcasters: Upcasters) {
    this.#engine = engine;
    this.id = id;
    this.#upcasters = upcasters;
    this.#lines = logLines(engine, id);
    this.segments = this.#newSegments();
  }

  /** Reads the new events, then does `work`; nothing changes meanwhile. Throws NOT_FOUND when there is no such chat. */
  async run<T>(work: (view: this) => Promise<T> | T): Promise<T> {
    return this.#turns.run('refresh', async () => {
      await this.#refresh();
      return work(this);
    });
  }

  /** Throws NOT_FOUND when there is no such chat. Folds nothing: of a long chat, that is most of the time to open it. */
  async assertExists(): Promise<void> {
    await this.#turns.run('refresh', async () => {
      await this.#look();
    });
  }

  /** The memory of this view may hold texts that were erased. */
  forget(): void {
    this.events = 0;
    this.overview = emptyOverview();
    this.#tail = newTail();
    this.segments = this.#newSegments();
    this.#isLoaded = false;
  }

  get stored(): StoredMeta {
    if (this.#stored === undefined) throw new TypeError('the view was not read yet');
    return this.#stored;
  }

  get isArchived(): boolean {
    return this.#archive !== undefined;
  }

  /** Damage of the chat as a whole. */
  get damage(): readonly ChatProblem[] {
    const { problem } = this.stored;
    return problem === undefined ? this.logDamage : [problem, ...this.logDamage];
  }

  /** The problems that the fold of the events has found, but for types that are registered by now. */
  async foundProblems(): Promise<{ readonly count: number; readonly listed: ChatProblem[] }> {
    const { problems, problemCount, strangers } = this.overview;
    if (strangers.length === 0) return { count: problemCount, listed: [...problems] };
    const known = await knownTypes(this.#engine);
    // A stranger is a type with its version.
    const met = strangers.filter((stranger) => known.has(stranger.replace(/@\d+$/, '')));
    const listed = problems.filter(({ type }) => type === undefined || !known.has(type));
    return { count: problemCount - met.length, listed };
  }

  /** Messages of the events after the last segment, and the changes of these events to older messages. */
  async tail(): Promise<SplitParts> {
    return splitParts(this.#tail.parts, (id) => this.segments.isBegun(id));
  }

  /** Reads lines from `from` on; the first is 0. */
  async read(from: number, limit: number): Promise<ReadLine[]> {
    const end = Math.min(from + limit, this.events);
    return from >= end ? [] : readLines(this.#lines, this.#upcasters, from, end - from);
  }

  /** Reads the same lines as they are stored. */
  async readRaw(from: number, limit: number): Promise<readonly Line[]> {
    return this.#lines(from, limit);
  }

  async #refresh(): Promise<void> {
    const count = await this.#look();
    // There is another chat of the same id, or the folds ran ahead of a log which lost its end.
    if (count < this.events || !this.#isLoaded) this.forget();
    do {
      if (!this.#isLoaded) await this.#load(count);
      await this.#foldTo(count);
    } while (!this.#isLoaded);
  }

  /** Reads the document and the length of the log. */
  async #look(): Promise<number> {
    const { stored, lost } = await this.#readMeta();
    const lines = await this.#countLines(stored);
    if (stored === undefined && lines === undefined) throw lost ?? noChat(this.id);
    this.#stored = stored ?? this.#madeUp(lost);
    return lines ?? 0;
  }

  async #countLines(stored: StoredMeta | undefined): Promise<number | undefined> {
    const archive = stored?.meta.archive;
    if (archive?.hash !== this.#archive) {
      this.#archive = archive?.hash;
      this.#lines =
        archive === undefined
          ? logLines(this.#engine, this.id)
          : await openArchive(this.#engine, archive);
    }
    if (archive !== undefined) {
      this.bytes = archive.bytes;
      this.logDamage = [];
      return archive.lines;
    }
    const size = await measureLog(this.#engine, this.id);
    this.bytes = size?.bytes ?? 0;
    this.logDamage = size?.damage ?? [];
    return size?.lines;
  }

  async #readMeta(): Promise<{ stored?: StoredMeta; lost?: Error }> {
    try {
      const stored = await readMeta(this.#engine, this.id);
      return stored === undefined ? {} : { stored };
    } catch (error) {
      if (isQuipuError(error, 'CORRUPT')) return { lost: error };
      throw error;
    }
  }

  /** The log is there without its document. The chat shows everything that the log holds. */
  #madeUp(lost: Error | undefined): StoredMeta {
    const message = `the document with title and times is ${lost === undefined ? 'missing' : `damaged: ${lost.message}`}`;
    const problem = { seq: 0, kind: 'metadata', message } as const;
    return { meta: newMeta(this.id, '', 0), version: 0, problem };
  }

  async #load(count: number): Promise<void> {
    const overview = await this.segments.load(count);
    if (overview !== undefined) {
      this.overview = overview;
      this.events = this.segments.count * SEGMENT_EVENTS;
    }
    this.#isLoaded = true;
  }

  async #foldTo(count: number): Promise<void> {
    while (this.events < count) {
      const room = (this.segments.count + 1) * SEGMENT_EVENTS - this.events;
      const limit = Math.min(room, count - this.events);
      const lines = await readLines(this.#lines, this.#upcasters, this.events, limit);
      if (lines.length === 0) return;
      this.#fold(lines);
      // A segment that fails here is begun anew: half of a segment must not be folded on.
      if (lines.length === room && !(await this.#seal())) return;
    }
  }

  #fold(lines: readonly ReadLine[]): void {
    const tail = this.#tail;
    for (const line of lines) {
      this.overview = addLine(this.overview, line);
      const part = line.event && partOf(line.event);
      if (part !== undefined) addPart(tail.parts, part);
      if (line.problem?.kind === 'unreadable') tail.damaged ??= line.seq;
    }
    for (const ref of refsIn(lines)) tail.refs.add(ref);
    this.events += lines.length;
  }

  /** Returns false when the chat is to be read again from the beginning. */
  async #seal(): Promise<boolean> {
    this.#isLoaded = false;
    if (!(await this.segments.seal(this.#tail, this.overview))) {
      this.forget();
      return false;
    }
    this.#isLoaded = true;
    this.#tail = newTail();
    return true;
  }

  #newSegments(): Segments {
    return new Segments(this.#engine, this.id, {
      upcasters: this.#upcasters.fingerprint,
      readSegment: (segment) =>
        readLines(this.#lines, this.#upcasters, segment * SEGMENT_EVENTS, SEGMENT_EVENTS),
    });
  }
}

function newTail(): Tail {
  return { parts: new Map(), refs: new Set(), damaged: undefined };
}

export function noChat(id: string): QuipuError<'NOT_FOUND'> {
  return notFound('chat', id, `there is no chat ${id}`);
}

export function chatExists(id: string): QuipuError<'EXISTS'> {
  return exists('chat', id, `there is a chat ${id} already; open it, or choose another id`);
}
