import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { join } from 'node:path';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { openStore } from '../../src/index.ts';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { PostgresServer } from '../../test/support/postgres/postgres-server.ts';
import { median } from '../figures.ts';
import { RawFile } from '../drivers/raw-file.ts';
import { databaseBytes, sqliteSaver } from '../drivers/savers.ts';
import { Payloads } from '../payloads.ts';
import { bytesUnder } from './space.ts';
import type { Result, Trial } from './workload.ts';

/** A participant that is no saver: what the least durable write costs. */
const FLOOR = ['floor', undefined] as const;

interface Figures {
  readonly puts: number[];
  readonly gets: number[];
}

/**
 * A graph whose state is a list that grows by a message at each of `size` turns. Each turn puts a checkpoint and its
 * writes, and gets the newest one. The savers take turns in a changing order: who syncs after PostgreSQL waits for its
 * pages, too. The floor is a sync of a file with as many new bytes as a message has.
 */
export async function langgraph({ folder, size, payloadBytes }: Trial): Promise<Result> {
  const server = await PostgresServer.start({ durable: true });
  try {
    const url = await server.createDatabase();
    const empty = await databaseBytes(url);
    const store = await openStore(join(folder, 'quipu'));
    // The first commit makes the journal, which has the same size in every small store.
    await store.contexts.create();
    const untouched = bytesUnder(join(folder, 'quipu'));
    const relaxed = sqliteSaver(join(folder, 'relaxed.db'), false);
    const synced = sqliteSaver(join(folder, 'synced.db'), true);
    const postgres = PostgresSaver.fromConnString(url);
    await postgres.setup();
    const savers = { quipu: new QuipuSaver(store), relaxed, synced, postgres };
    const floor = new RawFile(join(folder, 'floor'));
    const figures = await measure(savers, floor, size, payloadBytes);
    await floor.close();
    await store.close();
    relaxed.db.close();
    synced.db.close();
    await postgres.end();
    const quipuBytes = bytesUnder(join(folder, 'quipu'));
    return {
      ...figures,
      quipuBytes,
      quipuGrownBytes: quipuBytes - untouched,
      sqliteBytes: bytesUnder(folder, /relaxed/),
      postgresBytes: (await databaseBytes(url)) - empty,
    };
  } finally {
    await server.dispose();
  }
}

async function measure(
  savers: Readonly<Record<string, BaseCheckpointSaver>>,
  floor: RawFile,
  turns: number,
  payloadBytes: number,
): Promise<Result> {
  const texts = [...new Payloads(payloadBytes).take(turns)].map((bytes) => bytes.toString());
  const messages = texts.map((content, n) => ({ id: `m${n}`, role: 'user', content }));
  const newest = { configurable: { thread_id: 't', checkpoint_ns: '' } };
  const configs = new Map<string, Parameters<BaseCheckpointSaver['put']>[0]>();
  const times = new Map<string, Figures>();
  const syncs: number[] = [];
  const random = new SeededRandom(turns);
  for (let n = 1; n <= turns; n += 1) {
    const channel_values = { messages: messages.slice(0, n), step: n };
    const channel_versions = { messages: n, step: n };
    const versions_seen = { agent: { messages: n - 1 } };
    const values = { channel_values, channel_versions, versions_seen };
    for (const [name, saver] of shuffled([...Object.entries(savers), FLOOR], random)) {
      if (saver === undefined) {
        const bytes = RawFile.prepare(Buffer.from(texts[n - 1] ?? ''));
        const start = performance.now();
        await floor.append(1, bytes);
        syncs.push(performance.now() - start);
        continue;
      }
      const { puts, gets } = times.get(name) ?? { puts: [], gets: [] };
      times.set(name, { puts, gets });
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(n), ...values };
      const metadata = { source: 'loop', step: n, parents: {} } as const;
      const start = performance.now();
      const at = await saver.put(
        configs.get(name) ?? newest,
        checkpoint,
        metadata,
        channel_versions,
      );
      puts.push(performance.now() - start);
      configs.set(name, at);
      await saver.putWrites(at, [['messages', [messages[n - 1]]]], `task${n}`);
      const from = performance.now();
      const tuple = await saver.getTuple(newest);
      gets.push(performance.now() - from);
      const read = tuple?.checkpoint.channel_values['messages'];
      if ((read as unknown[]).length !== n) throw new Error(`${name} lost a message at turn ${n}`);
    }
  }
  const result: Record<string, number> = { floorP50Ms: median(syncs) };
  for (const [name, { puts, gets }] of times) {
    result[`${name}PutP50Ms`] = median(puts);
    result[`${name}GetP50Ms`] = median(gets);
  }
  return result;
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.below(left.length), 1));
}
