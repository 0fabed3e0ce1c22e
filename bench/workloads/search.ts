import { createReadStream, createWriteStream, statSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/index.ts';
import { BareFts5 } from '../bare-fts5.ts';
import { percentile, timeEach } from '../figures.ts';
import {
  SearchTexts,
  searchQueries,
  withPairs,
  type AskedQuery,
  type QueryClass,
} from '../search-texts.ts';
import type { Result, Trial } from './workload.ts';

const BATCH = 512;
const CONTEXT_TURNS = 20_000;
const APPENDS = 300;
/** Appends come in bursts, from the beginning of the build to its end. */
const BURST = 10;
const BURST_PAUSE_MS = 100;
const ASKED = 60;
/**
 * Each query is asked so often before it is timed. V8 compiles what a query for a rare word runs after some 50 of them,
 * which halves its time: a process that answers searches has done that in its first second.
 */
const WARM_ROUNDS = 10;
const BUILD_MS = 600_000;

/** Fills a store with `size` turns, and a file of JSON Lines with the same. */
export async function searchFill(trial: Trial): Promise<Result> {
  const lines = createWriteStream(join(trial.folder, 'texts.jsonl'));
  let bytes = 0;
  for await (const payloads of fill(join(trial.folder, 'store'), textsOf(trial.size))) {
    for (const { content } of payloads) bytes += Buffer.byteLength(content);
    const text = payloads.map((payload) => `${JSON.stringify(payload)}\n`).join('');
    if (!lines.write(text)) await once(lines, 'drain');
  }
  lines.end();
  await once(lines, 'close');
  return { bytes };
}

/** Makes a store of the texts. Yields the payloads of each batch. */
async function* fill(
  place: string,
  texts: Iterable<string>,
): AsyncGenerator<readonly { readonly role: string; readonly content: string }[]> {
  const store = await openStore(place, { durability: 'unsafe', search: false });
  let id = 0n;
  let done = 0;
  for (const some of inBatches(texts)) {
    if (done % CONTEXT_TURNS < BATCH) ({ id } = await store.contexts.create());
    const payloads = some.map((content) => ({ role: 'assistant', content }));
    await store.contexts.appendBatch(
      id,
      payloads.map((payload) => ({ type: 'message', payload })),
    );
    done += some.length;
    yield payloads;
  }
  await store.close();
}

function* inBatches(texts: Iterable<string>): Generator<readonly string[]> {
  let batch: string[] = [];
  for (const text of texts) {
    batch.push(text);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** The index of the same texts without Chinese and Japanese, where each character is a token. */
async function sizeApart(trial: Trial): Promise<{ apartBytes: number; apartIndexBytes: number }> {
  const place = join(trial.folder, 'apart');
  let apartBytes = 0;
  for await (const payloads of fill(place, withoutPairs(textsOf(trial.size)))) {
    for (const { content } of payloads) apartBytes += Buffer.byteLength(content);
  }
  const store = await openStore(place);
  const { index } = await store.search('warm up', { waitMs: BUILD_MS });
  if (!index.upToDate) throw new Error('the index was not built in time');
  await store.close();
  return { apartBytes, apartIndexBytes: indexSize(place) };
}

/** Indexes what `searchFill` made, and asks; the same with a bare table. */
export async function search(trial: Trial): Promise<Result> {
  const place = join(trial.folder, 'store');
  const bytes = textBytes(trial.size);
  const built = await build(place);
  const indexBytes = indexSize(place);
  const store = await openStore(place);
  await store.search('warm up', { waitMs: BUILD_MS });
  const asked = await askAll((query) => store.search(query, { waitMs: BUILD_MS, timeMs: 10_000 }));
  const rssBytes = process.memoryUsage.rss() - built.rssBefore;
  await store.close();
  const bare = new BareFts5(join(trial.folder, 'bare.db'));
  bare.fill(bareTexts(trial.size));
  const argsOf = (query: string, { match, candidates }: AskedQuery) =>
    [match, query.replaceAll(/["*]/g, ''), candidates] as const;
  const compared = await askAll(async (query, asked) => bare.firstPage(...argsOf(query, asked)));
  bare.close();
  const thread = new Worker(new URL('../bare-fts5-thread.js', import.meta.url), {
    workerData: join(trial.folder, 'bare.db'),
  });
  const apart = await askAll(async (query, asked) => {
    thread.postMessage(argsOf(query, asked));
    await once(thread, 'message');
  });
  await thread.terminate();
  const scanMs = await scan(join(trial.folder, 'texts.jsonl'), new SearchTexts().wordOf(39_000));
  return {
    bytes,
    indexBytes,
    indexMs: built.indexMs,
    bareInsertMs: bare.insertMs,
    quietMs: built.quietMs,
    busyMs: built.busyMs,
    builtRssBytes: built.rssBytes,
    rssBytes,
    scanMs,
    ...(await sizeApart(trial)),
    ...named(asked, ''),
    ...named(compared, 'bare-'),
    ...named(apart, 'bare-thread-'),
  };
}

/** Builds the index while somebody appends. */
async function build(place: string): Promise<{
  indexMs: number;
  quietMs: number;
  busyMs: number;
  rssBefore: number;
  rssBytes: number;
}> {
  const store = await openStore(place);
  const { id } = await store.contexts.create();
  const append = (): Promise<unknown> => store.contexts.append(id, { type: 'note', payload: 'ab' });
  await timeEach(APPENDS, append);
  const quietMs = await appendUntil(append, (done) => done >= APPENDS);
  const rssBefore = process.memoryUsage.rss();
  let rss = rssBefore;
  const watching = setInterval(() => (rss = Math.max(rss, process.memoryUsage.rss())), 50);
  const began = performance.now();
  let isBuilt = false;
  const building = store.search('warm up', { waitMs: BUILD_MS }).then(({ index }) => {
    if (!index.upToDate) throw new Error('the index was not built in time');
    isBuilt = true;
    return performance.now() - began;
  });
  const busy = await appendUntil(append, () => isBuilt);
  const indexMs = await building;
  clearInterval(watching);
  await store.close();
  return { indexMs, quietMs, busyMs: busy, rssBefore, rssBytes: rss - rssBefore };
}

/** The p50. */
async function appendUntil(
  append: () => Promise<unknown>,
  isOver: (done: number) => boolean,
): Promise<number> {
  const taken: number[] = [];
  while (!isOver(taken.length)) {
    taken.push(...(await timeEach(BURST, append)));
    await sleep(BURST_PAUSE_MS);
  }
  return percentile(taken, 0.5);
}

async function askAll(
  ask: (query: string, asked: AskedQuery) => Promise<unknown>,
): Promise<Record<QueryClass, number[]>> {
  const found = {} as Record<QueryClass, number[]>;
  for (const [name, queries] of Object.entries(searchQueries(new SearchTexts()))) {
    let at = 0;
    const one = async (): Promise<void> => {
      const asked = queries[at % queries.length];
      at += 1;
      if (asked !== undefined) await ask(asked.query, asked);
    };
    await timeEach(queries.length * WARM_ROUNDS, one);
    found[name as QueryClass] = await timeEach(ASKED, one);
  }
  return found;
}

function named(times: Record<QueryClass, number[]>, prefix: string): Record<string, number> {
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, taken]) => [
      [`${prefix}${name}-p50Ms`, percentile(taken, 0.5)],
      [`${prefix}${name}-p99Ms`, percentile(taken, 0.99)],
    ]),
  );
}

function* textsOf(count: number): Generator<string> {
  const texts = new SearchTexts();
  for (let n = 0; n < count; n += 1) yield texts.next();
}

function* withoutPairs(texts: Iterable<string>): Generator<string> {
  for (const text of texts) if (withPairs(text) === text) yield text;
}

function* bareTexts(count: number): Generator<{ text: string; indexed: string }> {
  for (const text of textsOf(count)) yield { text, indexed: withPairs(text) };
}

function textBytes(count: number): number {
  let bytes = 0;
  for (const text of textsOf(count)) bytes += Buffer.byteLength(text);
  return bytes;
}

function indexSize(place: string): number {
  return sizeOf(join(place, 'search.db')) + sizeOf(join(place, 'search.db-wal'));
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Looks for a word in every line, as `grep` does. */
async function scan(path: string, word: string): Promise<number> {
  const began = performance.now();
  let found = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
    if ((piece as Buffer).includes(word)) found += 1;
  }
  if (found === 0) throw new Error('the file does not have what was written to it');
  return performance.now() - began;
}
