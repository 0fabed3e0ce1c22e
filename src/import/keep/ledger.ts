import { isFields } from '../../base/fields.ts';
import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { isQuipuError, notFound, locked } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { NewTurn } from '../../context/contexts.ts';
import type { Store } from '../../store/store.ts';
import { at, listAt, textAt } from '../source/fields.ts';
import { LEDGER_KIND } from '../show/imported-turn.ts';
import type { Source } from '../source/source.ts';
import type { Session, UsageRow } from '../fold/session.ts';
import { ENTRY, addUsage, toSession, type FileEntry, type SessionPlace } from './entries.ts';

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
