import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'pg';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { openStore } from '../../src/index.ts';
import { PostgresServer } from '../../test/support/postgres/postgres-server.ts';
import type { Conversations, ForkPoint, SaverName } from './driver.ts';
import type { Opened } from './open-conversations.ts';

type DatabaseSaverName = 'quipu-postgres-saver' | 'postgres-saver';
type Place = Parameters<BaseCheckpointSaver['put']>[0];

interface Thread {
  /** The places of its checkpoints, the newest one last. */
  readonly places: Place[];
  messages: unknown[];
}

interface SaverOptions {
  /** A fork begins a thread with a copy of the state, in place of a second child of its checkpoint. */
  readonly copies?: boolean;
}

/**
 * Conversations as LangGraph keeps them: after each turn the saver gets all messages so far, as a graph with one
 * channel gives them. LangGraph also saves the writes of each task, which is left out here.
 */
class Savers implements Conversations {
  readonly #saver: BaseCheckpointSaver;
  readonly #end: () => Promise<void>;
  readonly #copies: boolean;
  readonly #threads: Thread[] = [];

  constructor(
    saver: BaseCheckpointSaver,
    end: () => Promise<void>,
    { copies = false }: SaverOptions = {},
  ) {
    this.#saver = saver;
    this.#end = end;
    this.#copies = copies;
  }

  async create(): Promise<number> {
    return this.#threads.push({ places: [placeOf(this.#threads.length)], messages: [] }) - 1;
  }

  async append(number: number, payload: Uint8Array): Promise<void> {
    const thread = this.#mustGet(number);
    const messages = [...thread.messages, JSON.parse(Buffer.from(payload).toString()) as unknown];
    const step = messages.length;
    const versions = { messages: step };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { messages },
      channel_versions: versions,
    };
    const metadata = { source: 'loop', step, parents: {} } as const;
    const before = thread.places.at(-1) ?? placeOf(number);
    thread.places.push(await this.#saver.put(before, checkpoint, metadata, versions));
    thread.messages = messages;
  }

  async values(number: number, n: number): Promise<unknown[]> {
    return (await this.#load(this.#mustGet(number).places.at(-1))).slice(-n);
  }

  async turnAt(thread: number, depth: number): Promise<ForkPoint> {
    return { thread, depth, turn: 0n };
  }

  async fork({ thread, depth }: ForkPoint): Promise<number> {
    const { places } = this.#mustGet(thread);
    const messages = await this.#load(places[depth + 1]);
    const begun = this.#copies ? [placeOf(this.#threads.length)] : places.slice(0, depth + 2);
    return this.#threads.push({ places: begun, messages }) - 1;
  }

  async close(): Promise<void> {
    await this.#end();
  }

  async #load(place: Place | undefined): Promise<unknown[]> {
    const tuple = place && (await this.#saver.getTuple(place));
    if (tuple === undefined) throw new RangeError('there is no such checkpoint');
    return tuple.checkpoint.channel_values['messages'] as unknown[];
  }

  #mustGet(number: number): Thread {
    const thread = this.#threads[number];
    if (thread !== undefined) return thread;
    throw new RangeError(`there is no thread ${number}`);
  }
}

function placeOf(thread: number): Place {
  return { configurable: { thread_id: `conversation-${thread}`, checkpoint_ns: '' } };
}

export async function openSaver(
  name: Exclude<SaverName, DatabaseSaverName>,
  folder: string,
): Promise<Conversations> {
  if (name === 'quipu-saver') return openQuipuSaver(folder);
  mkdirSync(folder, { recursive: true });
  const saver = sqliteSaver(join(folder, 'checkpoints.db'), name === 'sqlite-saver-full');
  return new Savers(saver, async () => void saver.db.close());
}

/** `synced` is a connection that makes each put durable. */
export function sqliteSaver(path: string, synced: boolean): SqliteSaver {
  const saver = SqliteSaver.fromConnString(path);
  if (synced) saver.db.pragma('synchronous = FULL');
  return saver;
}

async function openQuipuSaver(place: string): Promise<Conversations> {
  const store = await openStore(place);
  return new Savers(new QuipuSaver(store), () => store.close());
}

async function openPostgresSaver(url: string): Promise<Conversations> {
  const saver = PostgresSaver.fromConnString(url);
  await saver.setup();
  // It keeps a channel once per thread and version number, and two children of a checkpoint have the same number.
  return new Savers(saver, () => saver.end(), { copies: true });
}

/** On a server that syncs each commit. The bytes are those of the database, without the log of the server. */
export async function openDatabaseSaver(name: DatabaseSaverName): Promise<Opened> {
  const server = await PostgresServer.start({ durable: true });
  const url = await server.createDatabase();
  return {
    conversations: await (name === 'postgres-saver' ? openPostgresSaver : openQuipuSaver)(url),
    diskBytes: () => databaseBytes(url),
    dispose: () => server.dispose(),
  };
}

export async function databaseBytes(url: string): Promise<number> {
  const pool = new Pool({ connectionString: url, max: 1 });
  try {
    const text = 'SELECT pg_database_size(current_database())::float8 AS bytes';
    return (await pool.query<{ bytes: number }>(text)).rows[0]?.bytes ?? Number.NaN;
  } finally {
    await pool.end();
  }
}
