import { isFields } from '../../base/fields.ts';
import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { isQuipuError, notFound, locked } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { NewTurn } from '../../context/contexts.ts';
import type { Store } from '../../store/store.ts';
import { at, listAt, textAt, countAt } from '../source/fields.ts';
import { LEDGER_KIND } from '../show/imported-turn.ts';
import type { Source, SessionDetails } from '../source/source.ts';
import { ROOT, Session, addUsage, type UsageRow, type Node } from '../fold/session.ts';

// The ledger of a source: a context of the store that says how far each file was read, which contexts a session has,
// and which turn each record became. Its newest table holds the sums; the entries after it hold what came later.
//
// Invariants
// - An entry is written after the turns that it names. So the ledger may be behind the contexts and is never ahead.
// - One import writes at a time: each append expects the head that the one before has left.

const PAGE = 1000;
/** So many entries may follow a table before a run writes a new one, or a tenth of the table if that is more. */
const ENTRIES_MAX = 64;

interface Waiting {
  readonly turns: readonly NewTurn[];
  readonly done: (ids: readonly TurnId[]) => void;
  readonly failed: (error: unknown) => void;
}

export class Ledger {
  readonly files: Map<string, FileEntry> = new Map();
  readonly sessions: Map<string, SessionPlace> = new Map();
  /** Sessions by the ids of their first turns. */
  readonly firsts: Map<string, string> = new Map();
  readonly usage: Map<string, UsageRow> = new Map();
  readonly #store: Store;
  readonly #source: Source;
  /** Undefined for a dry run on a store without a ledger. */
  readonly #context: ContextId | undefined;
  #head: TurnId;
  #sinceTable = 0;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  private constructor(store: Store, source: Source, context: ContextId | undefined, head: TurnId) {
    this.#store = store;
    this.#source = source;
    this.#context = context;
    this.#head = head;
  }

  static async open(store: Store, source: Source, dryRun: boolean): Promise<Ledger> {
    const found = dryRun ? await findLedger(store, source) : await makeLedger(store, source);
    const ledger = new Ledger(store, source, found?.id, found?.head ?? NO_TURN);
    if (found !== undefined && found.head !== NO_TURN)
      await ledger.#read(found.id, found.headDepth);
    return ledger;
  }

  /** The session as the last import has left it. */
  async load(name: string): Promise<Session | undefined> {
    const place = this.sessions.get(name);
    if (place === undefined) return undefined;
    const entries: unknown[] = [];
    for (let id = place.entry; id !== NO_TURN;) {
      const payload = (await this.#store.contexts.turn(id))?.payload;
      entries.push(payload);
      id = BigInt(textAt(payload, 'before') ?? '0') as TurnId;
    }
    const session = toSession(this.#source, entries.toReversed());
    const origin = textAt(entries[0], 'copied');
    if (session !== undefined && origin !== undefined) session.copied = await this.load(origin);
    return session;
  }

  /** Writes entries as a whole or not at all, in one commit with those of others that wait. */
  append(turns: readonly NewTurn[]): Promise<readonly TurnId[]> {
    return new Promise((done, failed) => {
      this.#waiting.push({ turns, done, failed });
      this.#writing ??= this.#write();
    });
  }

  /** Sums up what was written, if it is much. */
  async sum(): Promise<void> {
    await this.#writing;
    const enough = Math.max(ENTRIES_MAX, (this.files.size + this.sessions.size) / 10);
    if (this.#sinceTable < enough) return;
    const payload = {
      files: [...this.files.values()],
      sessions: [...this.sessions].map(([name, { context, entry, first }]) => [
        name,
        String(context),
        String(entry),
        first,
      ]),
      usage: [...this.usage.values()],
    };
    await this.append([{ type: ENTRY.table, payload }]);
    this.#sinceTable = 0;
  }

  take(type: string, id: TurnId, payload: unknown): void {
    if (type === ENTRY.file) this.#takeFile(payload);
    else if (type === ENTRY.session) {
      const context = listAt(payload, 'slots')[Number(at(payload, 'main'))];
      const first = listAt(payload, 'first').map(String);
      const name = textAt(payload, 'session') ?? '';
      this.#takeSession(name, String(Array.isArray(context) ? context[0] : 0), id, first);
      addUsage(this.usage, listAt(payload, 'usage'));
    }
    this.#sinceTable += 1;
  }

  async #read(context: ContextId, headDepth: number): Promise<void> {
    const from = await this.#findTable(context, headDepth);
    for (let depth = from; depth <= headDepth;) {
      const page = await this.#store.contexts.range(context, depth, headDepth + 1);
      for (const { type, id, payload } of page.turns) {
        if (type === ENTRY.table) this.#takeTable(payload);
        else this.take(type, id, payload);
      }
      depth = page.nextDepth ?? headDepth + 1;
    }
  }

  /** The depth of the newest table, or 0. */
  async #findTable(context: ContextId, headDepth: number): Promise<number> {
    for (let to = headDepth + 1; to > 0; to -= PAGE) {
      const from = Math.max(0, to - PAGE);
      const { turns } = await this.#store.contexts.range(context, from, to, {
        payload: false,
      });
      const table = turns.findLast(({ type }) => type === ENTRY.table);
      if (table !== undefined) return table.depth;
    }
    return 0;
  }

  #takeTable(payload: unknown): void {
    for (const file of listAt(payload, 'files')) this.#takeFile(file);
    for (const row of listAt(payload, 'sessions')) {
      const [name, context, entry, first] = Array.isArray(row) ? (row as unknown[]) : [];
      const ids = Array.isArray(first) ? first.map(String) : [];
      this.#takeSession(String(name), String(context), BigInt(String(entry)) as TurnId, ids);
    }
    addUsage(this.usage, listAt(payload, 'usage'));
    this.#sinceTable = 0;
  }

  #takeFile(file: unknown): void {
    if (isFields(file) && typeof file['path'] === 'string') {
      this.files.set(file['path'], file as unknown as FileEntry);
    }
  }

  #takeSession(name: string, context: string, entry: TurnId, first: readonly string[]): void {
    this.sessions.set(name, { context: BigInt(context) as ContextId, entry, first });
    for (const id of first) if (!this.firsts.has(id)) this.firsts.set(id, name);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#context === undefined) throw new TypeError('a dry run writes no ledger');
        const turns = group.flatMap((waiting) => waiting.turns);
        const written = await this.#store.contexts.appendBatch(this.#context, turns, {
          expectedHead: this.#head,
        });
        this.#head = written.at(-1)?.id ?? this.#head;
        let from = 0;
        for (const { turns: own, done } of group) {
          done(written.slice(from, from + own.length).map(({ id }) => id));
          from += own.length;
        }
      } catch (error) {
        const told = isQuipuError(error, 'HEAD_MOVED') ? otherImport(this.#source.title) : error;
        for (const { failed } of group) failed(told);
      }
    }
    this.#writing = undefined;
  }
}

function otherImport(source: string): Error {
  return locked(
    'import',
    'another import',
    `another import from ${source} writes to this store; wait until it has ended and run this one again`,
  );
}

async function makeLedger(store: Store, { name, title }: Source): Promise<Context> {
  const { id } = await store.contexts.create({
    kind: LEDGER_KIND,
    title: `Ledger of the import from ${title}`,
    labels: [name],
    idempotencyKey: `import/${name}/ledger`,
  });
  const context = await store.contexts.get(id);
  if (context !== undefined) return context;
  throw notFound(
    'context',
    String(id),
    `the ledger of the import from ${title}, context ${id}, was removed; import into another store`,
  );
}

export async function findLedger(store: Store, { name }: Source): Promise<Context | undefined> {
  const { items } = await store.contexts.list({ kind: LEDGER_KIND, label: name });
  return items[0];
}

// The entries of a source's ledger: docs/format/import.md. An entry is a turn of the ledger. Entries of a session hold
// what was new since the one before, and name it.

export const ENTRY = {
  session: 'import.session',
  asides: 'import.asides',
  file: 'import.file',
  table: 'import.table',
} as const;

/** The position up to which a file was read. */
export interface FileEntry {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Everything before it is stored. */
  readonly offset: number;
  /** False if some of the file was left for later. */
  readonly done: boolean;
  /** Of the bytes at the beginning and before `offset`. */
  readonly fingerprint: string;
  readonly session: string;
  /** The state that the reader of the source has saved. */
  readonly state?: unknown;
}

/** A session, as the table lists it. */
export interface SessionPlace {
  readonly context: ContextId;
  /** Its newest entry. */
  readonly entry: TurnId;
  readonly first: readonly string[];
}

/** The state of a session that is new since its entry before. */
export interface SessionEntry {
  readonly session: string;
  readonly before: string;
  readonly slots: readonly (readonly [context: string, head: string, own: boolean])[];
  readonly main: number;
  readonly last: string;
  readonly first: readonly string[];
  readonly copied: string | null;
  readonly details: SessionDetails;
  /** Short ids of records, 16 digits each, by turn. */
  readonly ids: readonly (readonly [turn: string, ids: string])[];
  readonly usage: readonly UsageRow[];
  /** So many entries before this one hold records of this session that are no turns. */
  readonly asides: number;
}

/** Everything in it is stored. Takes what is new since the entry before. */
export function toSessionEntry(session: Session, before: TurnId, asides: number): SessionEntry {
  const ids = new Map<string, string>();
  for (const [short, { turn }] of session.newIds) {
    const key = String(turn ?? 0);
    ids.set(key, `${ids.get(key) ?? ''}${short}`);
  }
  return {
    session: session.name,
    before: String(before),
    slots: session.slots.map(({ context, storedHead, own }) => [
      String(context ?? 0),
      String(storedHead),
      own,
    ]),
    main: session.main,
    last: String(session.last.turn ?? 0),
    first: session.first ?? [],
    copied: session.copied?.name ?? null,
    details: session.details,
    ids: [...ids],
    usage: [...session.newUsage.values()],
    asides,
  };
}

/** Puts a session together from its entries, oldest first. `copied` is left to the caller. */
export function toSession(source: Source, entries: readonly unknown[]): Session | undefined {
  const newest = entries.at(-1);
  const name = textAt(newest, 'session');
  if (name === undefined) return undefined;
  const session = new Session(source, name);
  const nodes = new Map<string, Node>([['0', ROOT]]);
  const nodeOf = (turn: string, key = ''): Node => {
    const node = nodes.get(turn) ?? { turn: BigInt(turn) as TurnId, key };
    nodes.set(turn, node);
    return node;
  };
  for (const entry of entries) {
    for (const [turn, ids] of pairs(listAt(entry, 'ids'))) {
      const node = nodeOf(turn, ids.slice(0, 16));
      for (let start = 0; start < ids.length; start += 16) {
        session.ids.set(ids.slice(start, start + 16), node);
      }
    }
  }
  for (const [number, slot] of listAt(newest, 'slots').entries()) {
    const [context, head, own] = Array.isArray(slot) ? (slot as unknown[]) : [];
    const storedHead = BigInt(String(head)) as TurnId;
    session.slots.push({
      number,
      context: BigInt(String(context)) as ContextId,
      head: nodeOf(String(head)),
      storedHead,
      own: own === true,
    });
  }
  session.main = countAt(newest, 'main');
  session.last = nodeOf(textAt(newest, 'last') ?? '0');
  const first = listAt(newest, 'first').map(String);
  session.first = first.length > 0 ? first : undefined;
  const details = at(newest, 'details');
  session.details = isFields(details) ? details : {};
  return session;
}

function pairs(list: readonly unknown[]): [string, string][] {
  return list.flatMap((item) =>
    Array.isArray(item) ? [[String(item[0]), String(item[1])] satisfies [string, string]] : [],
  );
}
