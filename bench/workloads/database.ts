import { Pool } from 'pg';
import { decompress } from '../../src/base/compress.ts';
import { hashBytes, hashToBytes } from '../../src/base/hash.ts';
import { compressBlob } from '../../src/format/blob-record.ts';
import { openDatabase } from '../../src/open-store.ts';
import { PostgresServer } from '../../test/support/postgres/postgres-server.ts';
import { StoreHistory } from '../drivers/store-history.ts';
import { median, percentile, timeEach } from '../figures.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

const WRITERS = 32;
const ROUNDS = 5;
const PAGE_TURNS = 64;
/** What an agent reads before each step: the round trips count, and not the bytes. */
const SHORT_TURNS = 20;
const READS = 200;

const TABLES = `
CREATE TABLE blobs (hash bytea PRIMARY KEY, size bigint NOT NULL, bytes bytea NOT NULL);
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE turns (context bigint, depth bigint, type text NOT NULL, created_at bigint NOT NULL,
  payload bytea NOT NULL, size bigint NOT NULL, PRIMARY KEY (context, depth))`;

/** What somebody writes who needs nothing but this: a blob and a turn, in one transaction. */
class ByHand {
  readonly #pool: Pool;
  readonly #depths: Map<number, number> = new Map();

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: WRITERS });
  }

  async create(): Promise<void> {
    await this.#pool.query(TABLES);
  }

  async append(context: number, payload: Uint8Array): Promise<void> {
    const { stored } = compressBlob(payload);
    const hash = hashToBytes(hashBytes(payload));
    const depth = this.#depths.get(context) ?? 0;
    this.#depths.set(context, depth + 1);
    const client = await this.#pool.connect();
    await client.query('BEGIN');
    await client.query({
      name: 'blob',
      text: 'INSERT INTO blobs VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      values: [hash, payload.length, Buffer.from(stored)],
    });
    await client.query({
      name: 'turn',
      text: 'INSERT INTO turns VALUES ($1, $2, $3, $4, $5, $6)',
      values: [context, depth, 'chat.message', Date.now(), hash, payload.length],
    });
    await client.query('COMMIT');
    client.release();
  }

  async last(context: number, n: number): Promise<number> {
    const { rows } = await this.#pool.query<{ size: string; bytes: Buffer }>({
      name: 'last',
      text: `SELECT t.depth, t.type, t.created_at, t.size, b.bytes FROM turns t JOIN blobs b ON b.hash = t.payload
        WHERE t.context = $1 ORDER BY t.depth DESC LIMIT $2`,
      values: [context, n],
    });
    return rows.reduce((sum, row) => sum + decompress(row.bytes, Number(row.size)).length, 0);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** `size` appends by 32 writers and pages of the newest turns, in turns with the same by hand; `from` turns deep. */
export async function database(trial: Trial): Promise<Result> {
  const server = await PostgresServer.start({ durable: true });
  try {
    const [own, other] = [await server.createDatabase(), await server.createDatabase()];
    const history = new StoreHistory(await openDatabase(own, { connections: WRITERS }));
    const byHand = new ByHand(other);
    await byHand.create();
    const appended = await compareAppends(trial, history, byHand);
    const read = await compareReads(trial, history, byHand);
    const ranges = await compareRanges(trial, history);
    await history.close();
    await byHand.close();
    return { ...appended, ...read, ...ranges };
  } finally {
    await server.dispose();
  }
}

type Append = (thread: number, payload: Uint8Array) => Promise<void>;

async function compareAppends(
  { size, payloadBytes }: Trial,
  history: StoreHistory,
  byHand: ByHand,
): Promise<Result> {
  const payloads = new Payloads(payloadBytes);
  const threads: number[] = [];
  for (let writer = 0; writer < WRITERS; writer += 1) threads.push(await history.create());
  const perSecond = async (append: Append): Promise<number> => {
    const each = Math.ceil(size / ROUNDS / WRITERS);
    const started = performance.now();
    await Promise.all(
      threads.map(async (thread) => {
        for (let nth = 0; nth < each; nth += 1) await append(thread, payloads.next());
      }),
    );
    return (each * WRITERS * 1000) / (performance.now() - started);
  };
  const [own, others, shares]: [number[], number[], number[]] = [[], [], []];
  // The first round warms both up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const mine = await perSecond((thread, payload) => history.append(thread, payload));
    const theirs = await perSecond((thread, payload) => byHand.append(thread, payload));
    if (round === 0) continue;
    own.push(mine);
    others.push(theirs);
    shares.push(mine / theirs);
  }
  return { perSecond: median(own), byHandPerSecond: median(others), share: median(shares) };
}

async function compareReads(
  { payloadBytes, size }: Trial,
  history: StoreHistory,
  byHand: ByHand,
): Promise<Result> {
  const payloads = new Payloads(payloadBytes, 2);
  const thread = await history.create();
  for (let nth = 0; nth < 2 * PAGE_TURNS; nth += 1) {
    const payload = payloads.next();
    await history.append(thread, payload);
    await byHand.append(thread, payload);
  }
  const p50 = async (turns: number): Promise<[own: number, byHand: number]> => {
    const [own, others]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      const reads = Math.min(READS, size);
      own.push(...(await timeEach(reads, () => history.last(thread, turns))));
      others.push(...(await timeEach(reads, () => byHand.last(thread, turns))));
    }
    return [percentile(own, 0.5), percentile(others, 0.5)];
  };
  const [lastP50Ms, lastByHandP50Ms] = await p50(PAGE_TURNS);
  const [shortP50Ms, shortByHandP50Ms] = await p50(SHORT_TURNS);
  return { lastP50Ms, lastByHandP50Ms, shortP50Ms, shortByHandP50Ms };
}

async function compareRanges({ from = 0 }: Trial, history: StoreHistory): Promise<Result> {
  const thread = await history.create();
  await history.fill(thread, new Payloads(100, 3).take(from));
  const [shallow, deep]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [depth, taken] of [
      [PAGE_TURNS, shallow],
      [from - 3 * PAGE_TURNS, deep],
    ] as const) {
      taken.push(...(await timeEach(20, () => history.range(thread, depth, depth + PAGE_TURNS))));
    }
  }
  return { shallowP50Ms: percentile(shallow, 0.5), deepP50Ms: percentile(deep, 0.5) };
}
