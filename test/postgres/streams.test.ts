import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeUtf8 } from '../../src/base/text.ts';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import { tailOf } from '../../src/stream/find-stream.ts';
import { toMessage } from '../../src/stream/message.ts';
import { Streams } from '../../src/stream/streams.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { SUITE, streamConformance } from '../support/stream-conformance.ts';

describe('Durable Streams on PostgreSQL', SUITE, () => {
  streamConformance(async () => openPostgresEngine(await freshDatabase()));
});

const TYPE = 'text/plain';

it('stores each message of a producer once, and none after a closing, whichever server it asks', async () => {
  const url = await freshDatabase();
  const engines = await Promise.all([openPostgresEngine(url), openPostgresEngine(url)]);
  onTestFinished(async () => {
    for (const engine of engines) await engine.close();
  });
  const [one, other] = engines.map((engine) => new Streams(engine)) as [Streams, Streams];
  const created = await Promise.all(
    [one, other].map((streams) =>
      streams.create('s', { type: TYPE, closed: false, body: new Uint8Array() }),
    ),
  );
  expect(created.filter(({ created: isNew }) => isNew)).toHaveLength(1);
  // Both servers get every message, as from a client that did not hear the answer.
  for (let seq = 0; seq < 20; seq += 1) {
    const message = toMessage(encodeUtf8(`${seq} `), TYPE)!;
    const producer = { id: 'p', epoch: 0, seq };
    const request = { message, type: TYPE, close: seq === 19, producer };
    const answers = await Promise.all([one, other].map((streams) => streams.append('s', request)));
    expect(answers.map(({ is }) => is).toSorted()).toEqual(['done', 'duplicate']);
  }
  const late = { message: toMessage(encodeUtf8('late'), TYPE)!, type: TYPE, close: false };
  for (const streams of [one, other]) {
    expect(await streams.append('s', late)).toEqual({ is: 'closed', next: 20 });
    const stream = await streams.find('s');
    expect(stream?.is === 'live' ? tailOf(stream) : stream).toBe(20);
  }
});
