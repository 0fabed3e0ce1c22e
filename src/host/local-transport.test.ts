import { beforeEach, describe, expect, it } from 'vitest';
import { NO_TURN } from '../base/brand.ts';
import { hashBytes } from '../base/hash.ts';
import type { CallTable } from '../server/calls/call-handler.ts';
import { createCalls } from '../server/calls/create-calls.ts';
import { createStore } from '../store/create-store.ts';
import { ModelEngine } from '../testing/model-engine.ts';
import { LocalTransport } from './local-transport.ts';

let engine: ModelEngine;
let transport: LocalTransport;

beforeEach(() => {
  engine = new ModelEngine({});
  const calls: CallTable = createCalls({ engine, store: createStore(engine) });
  transport = new LocalTransport(() => Promise.resolve(calls));
});

describe('LocalTransport', () => {
  it('answers as a server does', async () => {
    const bytes = new TextEncoder().encode('text');
    const hash = hashBytes(bytes);
    await transport.call('engine.commit', [{ blobs: [{ hash, bytes }] }]);
    expect(await engine.getBlob(hash)).toEqual(bytes);
    expect(await transport.call('engine.hasBlob', [hash])).toBe(true);
    expect(await transport.call('engine.tips', [])).toMatchObject({ turn: NO_TURN, patch: 0 });
    const wrong = transport.call('engine.commit', [
      { blobs: [{ hash, bytes: bytes.subarray(1) }] },
    ]);
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('takes a body in pieces', async () => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Uint8Array.of(1, 2);
      yield Uint8Array.of(3);
    }
    const stored = await transport.upload('engine.putBlob', [{ sha256: false }], body());
    expect(stored).toMatchObject({ hash: hashBytes(Uint8Array.of(1, 2, 3)), size: 3 });
  });

  it('streams until it is aborted', async () => {
    const controller = new AbortController();
    const items: unknown[] = [];
    const { signal } = controller;
    const reading = (async () => {
      for await (const item of transport.stream('engine.subscribe', [], { signal })) {
        items.push(item);
        if (items.length === 1) await engine.commit({ contexts: [{ do: 'create' }] });
        else controller.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    expect(items).toMatchObject([{ live: true }, { changes: [{ contexts: [{ id: 1n }] }] }]);
  });

  it('refuses calls once it is closed, and ends what goes on', async () => {
    const reading = (async () => {
      for await (const _ of transport.stream('engine.subscribe', [])) await transport.close();
    })();
    await expect(reading).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(transport.call('engine.tips', [])).rejects.toMatchObject({ code: 'CLOSED' });
  });
});
