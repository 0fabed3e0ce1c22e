import { isFields } from '../../base/fields.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { at, countAt, listAt, textAt } from '../source/fields.ts';
import type { SessionDetails, Source } from '../source/source.ts';
import { ROOT, Session, type Node, type UsageRow } from '../fold/session.ts';

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

/** Adds rows to sums by day, model and project. */
export function addUsage(sums: Map<string, UsageRow>, rows: readonly unknown[]): void {
  for (const row of rows) {
    if (!Array.isArray(row) || row.length !== 8) continue;
    const [day, model, project, ...counts] = row as UsageRow;
    const key = JSON.stringify([day, model, project]);
    const sum = sums.get(key) ?? [day, model, project, 0, 0, 0, 0, 0];
    for (const [index, count] of counts.entries()) sum[index + 3] = Number(sum[index + 3]) + count;
    sums.set(key, sum);
  }
}
