import { isFields } from '../../base/fields.ts';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Database } from '../../base/sqlite.ts';
import { textAt } from '../source/fields.ts';
import { parseRecord, statFile, statPlace } from '../source/walk-folder.ts';
import type { SourceFile } from '../source/source.ts';

// The database of opencode. It may be in use, with a write-ahead log. Then a copy is read, because SQLite writes to files
// beside a database that has one.

interface Open {
  /** Undefined for a file that could not be opened. */
  database: Database | undefined;
  readonly folder: string | undefined;
}

const opened = new Set<Open>();

/** Ends what the discovery has opened, and removes the copies. */
export async function closeDatabases(): Promise<void> {
  for (const { database, folder } of opened) {
    database?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
  opened.clear();
}

interface SessionRow {
  readonly id: string;
  readonly [column: string]: unknown;
}

export async function* discoverDatabase(place: string): AsyncGenerator<SourceFile> {
  for (const path of await databasesAt(place)) {
    const database = await open(path);
    if (database === undefined) continue;
    const sessions = select<SessionRow>(
      database,
      'SELECT * FROM session ORDER BY time_created, id',
    ).filter(({ id }) => typeof id === 'string');
    const titles = new Map(sessions.map((row) => [String(row['title']), row.id]));
    const stamps = new Map(
      [...countRows(database, 'message'), ...countRows(database, 'part')].map(({ id, size }) => [
        id,
        size,
      ]),
    );
    for (const row of sessions) {
      const origin = titles.get(String(row['title']).replace(/ \(fork #[0-9]+\)$/, ''));
      yield {
        path: `${path}#${row.id}`,
        session: row.id,
        form: 'lines',
        size: stamps.get(row.id) ?? 0,
        modifiedMs: Number(row['time_updated'] ?? 0),
        records: () => readRows(database, row, origin === row.id ? undefined : origin),
      };
    }
  }
}

async function databasesAt(place: string): Promise<string[]> {
  const found = await statPlace(place);
  if (found?.isFolder !== true) return found === undefined ? [] : [found.path];
  const names = await readdir(found.path).catch(() => []);
  const paths = names
    .filter((name) => /^opencode(?:-[^/]+)?\.db$/.test(name))
    .map((name) => join(found.path, name));
  const files = await Promise.all(paths.map(statFile));
  return files.flatMap((file) => (file === undefined ? [] : [file.path]));
}

async function open(path: string): Promise<Database | undefined> {
  const hasLog = (await statFile(`${path}-wal`)) !== undefined;
  const folder = hasLog ? await mkdtemp(join(tmpdir(), 'quipu-import-')) : undefined;
  const at = folder === undefined ? path : join(folder, basename(path));
  if (folder !== undefined) {
    for (const end of ['', '-wal', '-shm']) {
      await copyFile(`${path}${end}`, `${at}${end}`).catch(() => undefined);
    }
  }
  const entry: Open = { database: undefined, folder };
  opened.add(entry);
  try {
    const database = new Database(at, { access: folder === undefined ? 'read' : 'write' });
    entry.database = database;
    return hasOnlyTables(database) ? database : undefined;
  } catch {
    // The file is no database, or the copy was taken while it changed.
    return undefined;
  }
}

const TABLES = ['session', 'message', 'part', 'session_message'];

/** A view of such a name is not opencode's. It may run a query without end. */
function hasOnlyTables(database: Database): boolean {
  const rows = database
    .prepare<[], { name: string; isTable: number }>(
      "SELECT lower(name) AS name, type = 'table' AND rootpage > 0 AS isTable FROM sqlite_schema",
    )
    .all();
  const named = rows.filter(({ name }) => TABLES.includes(name));
  return (
    named.some(({ name }) => name === 'session') && named.every(({ isTable }) => isTable === 1)
  );
}

function select<R>(database: Database, sql: string, ...given: unknown[]): R[] {
  try {
    return database.prepare<unknown[], R>(sql).all(...given);
  } catch {
    // Each release changes the tables: what is not there has no rows.
    return [];
  }
}

function countRows(database: Database, table: string): { id: string; size: number }[] {
  const sql = `SELECT session_id AS id, sum(length(data)) AS size FROM ${table} GROUP BY session_id`;
  return select(database, sql);
}

async function* readRows(
  database: Database,
  row: SessionRow,
  copyOf: string | undefined,
): AsyncGenerator<object> {
  const session = {
    ...row,
    parentID: row['parent_id'] ?? undefined,
    time: { created: row['time_created'], updated: row['time_updated'] },
    revert: parse(row['revert']),
  };
  yield { session, ...(copyOf !== undefined && { copyOf }) };
  const messages = select<{ id: string }>(
    database,
    'SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id',
    row.id,
  );
  // One message at a time: a session may be larger than memory.
  for (const { id } of messages) {
    const [found] = select<{ data: unknown }>(
      database,
      'SELECT data FROM message WHERE id = ? AND session_id = ?',
      id,
      row.id,
    );
    const parts = select<{ id: string; data: string }>(
      database,
      'SELECT id, data FROM part WHERE message_id = ? ORDER BY id',
      id,
    );
    yield {
      info: { ...fields(found?.data), id },
      parts: parts.map((part) => ({ ...fields(part.data), id: part.id })),
    };
  }
  if (messages.length === 0) yield* readSecond(database, row.id);
}

/** Newer versions have one table of messages with their content. */
async function* readSecond(database: Database, session: string): AsyncGenerator<object> {
  const rows = select<{ id: string; type: string; data: string }>(
    database,
    'SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq',
    session,
  );
  for (const { id, type, data } of rows) {
    const value = fields(data);
    const content = Array.isArray(value['content']) ? (value['content'] as unknown[]) : [];
    const text = textAt(value, 'text') ?? textAt(value, 'summary');
    const parts = [
      ...(text === undefined
        ? []
        : [{ type: type === 'compaction' ? 'compaction' : 'text', text }]),
      ...content.map((block) => (textAt(block, 'type') === 'tool' ? toToolPart(block) : block)),
    ];
    const role = type === 'assistant' ? 'assistant' : 'user';
    yield { info: { ...value, role, id }, parts, type };
  }
}

function toToolPart(block: unknown): unknown {
  if (!isFields(block)) return block;
  return { ...block, callID: block['id'], tool: block['name'] };
}

/** A value that cannot be read is kept as it is. */
function fields(json: unknown): Record<string, unknown> {
  const value = parse(json);
  return isFields(value) ? value : { data: json instanceof Uint8Array ? toBase64(json) : json };
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function parse(json: unknown): unknown {
  try {
    return typeof json === 'string' ? parseRecord(json) : undefined;
  } catch {
    // The database is written by another program.
    return undefined;
  }
}
