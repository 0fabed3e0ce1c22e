import { groupsOf } from '../../base/pages.ts';
import { isFields } from '../../base/fields.ts';
import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import type { NewTurn, ContextUpdate } from '../../context/contexts.ts';
import type { Store } from '../../store/store.ts';
import type { Aside, Session, Slot } from '../fold/session.ts';
import type { SourceFile } from '../source/source.ts';
import { ENTRY, toSessionEntry, type FileEntry, type Ledger } from './ledger.ts';
import { isOfFile, noteFailed, type ImportReport } from './import-report.ts';
import { writeWork, type Writing } from './write-session.ts';

// Writes what the fold has planned: turns, then the ledger. Several files are written at a time, so that their commits
// share the syncs of the disk. A session is in one of them only: whoever asks for it waits.

const JOBS_MAX = 16;
const JOBS_BYTES_MAX = 48 * 1024 * 1024;
/** Ids of sessions that stay in memory. */
const CACHED_IDS_MAX = 200_000;
/** Records that are no turns come in entries of this size. */
const ASIDES_BYTES = 1024 * 1024;

/** One file, and what came of it. */
interface Job {
  readonly file: SourceFile;
  readonly sessions: readonly Session[];
  readonly entry: FileEntry;
  /** Jobs under way when this one began, by session. */
  readonly earlier: ReadonlyMap<string, Promise<void>>;
}

/** Where an import writes, and what it reports. */
export interface WriteTask {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly report: ImportReport;
  /** Counts, and writes nothing. */
  readonly dryRun: boolean;
}

export class SessionWriter {
  readonly #task: WriteTask;
  readonly #writing: Writing;
  readonly #jobs = new Map<Promise<void>, number>();
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #cache = new Map<string, Session>();
  /** Sessions that got turns. A long one is written in many pieces. */
  readonly #grown = new Set<string>();
  #failure: { readonly error: unknown } | undefined;

  constructor(task: WriteTask) {
    this.#task = task;
    this.#writing = { store: task.store, counts: task.report, known: new Map() };
  }

  /** A session that was imported before, once all of it is stored. */
  async find(name: string): Promise<Session | undefined> {
    await this.#inFlight.get(name);
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached;
    const loaded = await this.#task.ledger.load(name);
    if (loaded !== undefined) this.#keep(loaded);
    return loaded;
  }

  /** Drops what was planned for sessions that are not wanted after all. */
  forget(sessions: Iterable<string>): void {
    for (const name of sessions) this.#cache.delete(name);
  }

  /** Resolves when there is room for more; `written` when the work is stored. */
  async submit(
    file: SourceFile,
    sessions: readonly Session[],
    entry: FileEntry,
  ): Promise<{ readonly written: () => Promise<void> }> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const dirty = sessions.filter(({ isDirty }) => isDirty);
    const bytes = dirty.reduce((sum, { workBytes }) => sum + workBytes, 0);
    for (const session of sessions) this.#keep(session);
    this.#count(dirty);
    for (const { first = [], name } of dirty) {
      for (const id of first)
        if (!this.#task.ledger.firsts.has(id)) this.#task.ledger.firsts.set(id, name);
    }
    const written = this.#write({ file, sessions: dirty, entry, earlier: new Map(this.#inFlight) });
    let failed: Error | undefined;
    const job = written.catch((error: unknown) => {
      // The ledger does not have the file, so the next import reads it again.
      this.forget(dirty.map(({ name }) => name));
      if (!isOfFile(error)) this.#failure ??= { error };
      else {
        failed = error;
        noteFailed(this.#task.report, file.path, error);
      }
    });
    this.#jobs.set(job, bytes);
    for (const { name } of dirty) this.#inFlight.set(name, job);
    void job.then(() => {
      this.#jobs.delete(job);
      for (const { name } of dirty) {
        if (this.#inFlight.get(name) === job) this.#inFlight.delete(name);
      }
    });
    while (this.#jobs.size >= JOBS_MAX || this.#heldBytes() > JOBS_BYTES_MAX) {
      await Promise.race(this.#jobs.keys());
    }
    return {
      written: async () => {
        await job;
        this.#check();
        if (failed !== undefined) throw failed;
      },
    };
  }

  async drain(): Promise<void> {
    await Promise.all(this.#jobs.keys());
    this.#check();
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #heldBytes(): number {
    return [...this.#jobs.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  #count(sessions: readonly Session[]): void {
    for (const { name, counts } of sessions) {
      this.#task.report.turns += counts.turns;
      this.#task.report.forks += counts.forks;
      this.#task.report.unlinked += counts.roots;
      if (counts.turns > 0) this.#grown.add(name);
      Object.assign(counts, { turns: 0, forks: 0, roots: 0 });
    }
    this.#task.report.sessions = this.#grown.size;
  }

  async #write(job: Job): Promise<void> {
    const { sessions, entry } = job;
    if (this.#task.dryRun) return sessions.forEach(reset);
    const turns: NewTurn[] = [];
    const entries: (readonly [type: string, payload: unknown])[] = [];
    const push = (type: string, payload: unknown, more: Partial<NewTurn> = {}): void => {
      turns.push({ type, payload: toBytes(payload), encoding: 'json', ...more });
      entries.push([type, payload]);
    };
    for (const session of sessions) {
      await writeWork(this.#writing, session, session.work);
      if (session.detailsChanged) await this.#describe(session, job);
      if (session.slots.length === 0 && session.newAsides.length === 0) continue;
      const asides = [...groupsOf(session.newAsides, ASIDES_BYTES, sizeOf)];
      for (const records of asides) {
        const fsRoot = await this.#putTree(records);
        push(ENTRY.asides, { session: session.name, records: records.map(toAsideRow) }, fsRoot);
      }
      const before = this.#task.ledger.sessions.get(session.name)?.entry ?? NO_TURN;
      push(ENTRY.session, toSessionEntry(session, before, asides.length));
      reset(session);
    }
    push(ENTRY.file, entry);
    const ids = await this.#task.ledger.append(turns);
    for (const [index, [type, payload]] of entries.entries()) {
      this.#task.ledger.take(type, ids[index] ?? NO_TURN, payload);
    }
  }

  async #describe(session: Session, job: Job): Promise<void> {
    const context = await this.#findParent(session, job);
    for (const slot of session.slots) {
      if (slot.context === undefined) continue;
      await this.#task.store.contexts.update(
        slot.context,
        describeSlot(session, slot, job.file.path, context),
      );
    }
  }

  /** Waits for jobs that began before this one, and for no other: two sessions may each name the other. */
  async #findParent(session: Session, job: Job): Promise<ParentPlace | undefined> {
    const { parent } = session.details;
    if (parent === undefined || parent.session === session.name) return undefined;
    await job.earlier.get(parent.session);
    const found =
      this.#cache.get(parent.session) ??
      (this.#inFlight.has(parent.session)
        ? undefined
        : await this.#task.ledger.load(parent.session));
    const context = found?.slots[found.main]?.context;
    if (context === undefined) return undefined;
    const { call = '', agent = '' } = parent;
    const ids = [`call:${call}`, `agent:${agent}`, `call:${agent}`];
    const turn = ids.map((id) => found?.find(id)?.turn).find((id) => id !== undefined);
    return { context, turn };
  }

  /** Lines that are blobs stay as long as the entry that names them. */
  async #putTree(asides: readonly Aside[]): Promise<Partial<NewTurn>> {
    const hashes = asides.flatMap(({ blob }) => (blob === undefined ? [] : [blob.hash]));
    if (hashes.length === 0) return {};
    return { fsRoot: (await this.#task.store.blobs.put(toBytes(hashes))).hash };
  }

  #keep(session: Session): void {
    this.#cache.delete(session.name);
    this.#cache.set(session.name, session);
    let ids = 0;
    for (const [name, kept] of [...this.#cache].toReversed()) {
      ids += kept.ids.size;
      if (ids > CACHED_IDS_MAX && kept !== session) this.#cache.delete(name);
    }
  }
}

function reset(session: Session): void {
  session.work = [];
  session.workBytes = 0;
  session.workTurns = 0;
  session.newIds = [];
  session.newAsides = [];
  session.newUsage.clear();
  session.detailsChanged = false;
}

function sizeOf({ raw, bad = '' }: Aside): number {
  return (raw ?? bad).length + 100;
}

function toAsideRow({ after, raw, bad, blob }: Aside): [string, string, string] {
  const turn = String(after.turn ?? 0);
  if (raw !== undefined) return [turn, 'record', raw];
  return bad !== undefined ? [turn, 'bad', bad] : [turn, 'blob', blob?.sha256 ?? ''];
}

function toBytes(payload: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(payload));
}

// The title and the metadata of an imported context: docs/format/import.md.

const TITLE_CHARS = 200;
/** So that all of them fit: the metadata of a context have 64 KiB. */
const VALUE_CHARS = 1280;

/** Where the session was started. */
interface ParentPlace {
  readonly context: ContextId;
  readonly turn: TurnId | undefined;
}

/** The names of the contexts of a session. */
function describeSlot(
  session: Session,
  slot: Slot,
  path: string,
  parent: ParentPlace | undefined,
): ContextUpdate {
  const { details, name, source, slots, main } = session;
  const { title, cwd, branch, model, version, startedAt, more } = details;
  const mainContext = slots[main]?.context;
  const link = details.parent && {
    session: details.parent.session,
    ...(details.parent.call !== undefined && { call: details.parent.call }),
    ...(parent?.context !== undefined && { context: String(parent.context) }),
    ...(parent?.turn !== undefined && { turn: String(parent.turn) }),
  };
  const meta = {
    source,
    session: name,
    path,
    cwd,
    branch,
    model,
    version,
    startedAt,
    parent: link,
    // A branch that the session has left names the context that goes on.
    ...(slot.number !== main && mainContext !== undefined && { branchOf: String(mainContext) }),
    ...more,
  };
  return {
    meta: cutTexts(meta),
    ...(title !== undefined && { title: toLine(title.text) }),
  };
}

/** Text for one line: what a record says may be long, and have line breaks. */
function toLine(text: string): string {
  const line = text
    .slice(0, 4 * TITLE_CHARS)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  return Array.from(line)
    .slice(0, TITLE_CHARS)
    .join('')
    .replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

function cutTexts(meta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(meta)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        typeof value === 'string'
          ? value.slice(0, VALUE_CHARS).replaceAll(/[\p{Surrogate}\p{Cc}]/gu, '\ufffd')
          : isFields(value)
            ? cutTexts(value)
            : value,
      ]),
  );
}
