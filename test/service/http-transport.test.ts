import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpTransport } from '../../src/client/http/http-transport.ts';
import { isOutcomeUnknown } from '../../src/client/transport.ts';
import { QuipuError } from '../../src/base/errors.ts';
import type { CallHandler, CallTable } from '../../src/server/calls/call-handler.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { serveHttp } from './http-rig.ts';

/** What became of the calls, as the server saw it. */
const fate = { ended: 0 };

const CALLS: CallTable = new Map<string, CallHandler>([
  ['echo', { kind: 'answer', needs: 'read', run: async (args) => args }],
  [
    'fail',
    {
      kind: 'answer',
      needs: 'read',
      run: () => Promise.reject(new QuipuError('READ_ONLY', 'no', { path: 'x' })),
    },
  ],
  ['defect', { kind: 'answer', needs: 'read', run: () => Promise.reject(new Error('secret')) }],
  ['wait', { kind: 'answer', needs: 'read', run: () => new Promise(() => undefined) }],
  [
    'count',
    {
      kind: 'stream',
      needs: 'read',
      async *run([to]: readonly unknown[], { signal }) {
        try {
          for (let n = 0; n < Number(to) && !signal.aborted; n += 1)
            yield { n, bytes: new Uint8Array([n]) };
          if (to === 3) throw new QuipuError('INVALID', 'three is no number', { what: 'to' });
        } finally {
          fate.ended += 1;
        }
      },
    },
  ],
  [
    'sum',
    {
      kind: 'upload',
      needs: 'read',
      async run(args: readonly unknown[], body) {
        let size = 0;
        for await (const piece of body) size += piece.length;
        return [args, size];
      },
    },
  ],
]);

async function open(): Promise<HttpTransport> {
  const { url } = await serveHttp({ calls: CALLS });
  const transport = new HttpTransport(url);
  onTestFinished(() => transport.close());
  return transport;
}

async function* zeros(count: number, size: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) yield new Uint8Array(size);
}

describe('calls over HTTP', () => {
  it('bring back what they were given, and the errors of the server', async () => {
    const transport = await open();
    const args = [1n, { bytes: new Uint8Array([1, 2]), none: undefined }, ['ü'], -0];
    expect(await transport.call('echo', args)).toEqual(args);
    const error = await failure(transport.call('fail', []), 'READ_ONLY');
    expect(error.data).toEqual({ path: 'x' });
    expect((await failure(transport.call('defect', []), 'IO')).message).not.toContain('secret');
    await failure(transport.call('nothing', []), 'UNSUPPORTED');
  });

  it('stream, end, fail in the middle, and stop when the reader does', async () => {
    const transport = await open();
    const seen: unknown[] = [];
    for await (const item of transport.stream('count', [300])) seen.push(item);
    expect(seen).toHaveLength(300);
    expect(seen[7]).toEqual({ n: 7, bytes: new Uint8Array([7]) });
    const failing = async (): Promise<void> => {
      for await (const _ of transport.stream('count', [3]));
    };
    await failure(failing(), 'INVALID');
    fate.ended = 0;
    for await (const _ of transport.stream('count', [1e9])) break;
    await expect.poll(() => fate.ended, { ...PATIENCE, interval: 5 }).toBe(1);
  });

  it('upload as the bytes come', async () => {
    const transport = await open();
    expect(await transport.upload('sum', ['a'], zeros(50, 70_000))).toEqual([['a'], 3_500_000]);
    expect(await transport.upload('sum', [], zeros(0, 0))).toEqual([[], 0]);
    const { url } = await serveHttp({ calls: CALLS });
    const gathering = new HttpTransport(url, { streamUploads: false });
    expect(await gathering.upload('sum', ['b'], zeros(3, 10))).toEqual([['b'], 30]);
  });

  it('end with their time, their signal and the transport', async () => {
    const transport = await open();
    await failure(transport.call('wait', [], { timeoutMs: 50 }), 'TIMEOUT');
    const aborter = new AbortController();
    const aborted = transport.call('wait', [], { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const waiting = transport.call('wait', []);
    await transport.close();
    await failure(waiting, 'CLOSED');
    await failure(transport.call('echo', []), 'CLOSED');
  });

  it('say whether they may have been carried out', async () => {
    const server = createServer((incoming) => incoming.socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const transport = new HttpTransport(`http://127.0.0.1:${port}`);
    const cut = await failure(transport.call('echo', []), 'UNAVAILABLE');
    expect(isOutcomeUnknown(cut)).toBe(true);
    await new Promise((resolve) => server.close(resolve));
    const refused = await failure(transport.call('echo', []), 'UNAVAILABLE');
    expect(isOutcomeUnknown(refused)).toBe(false);
  });
});
