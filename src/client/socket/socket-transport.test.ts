import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { timersFireEarly } from '../../../test/support/early-timers.ts';
import { dialTo } from './dial.ts';
import { SocketTransport } from './socket-transport.ts';

it('waits for an answer as long as it was told, although timers fire early', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  using _early = timersFireEarly(5);
  const began = performance.now();
  const dial = dialTo({ kind: 'tcp', host: '127.0.0.1', port });
  let failure: unknown;
  const transport = new SocketTransport({ dial, timeoutMs: 50 });
  void transport.connect().catch((error: unknown) => (failure = error));
  const [asker] = (await once(silent, 'connection')) as [Socket];
  await once(asker, 'data');
  while (failure === undefined) await vi.advanceTimersByTimeAsync(1);
  expect(failure).toMatchObject({ code: 'UNAVAILABLE' });
  expect(performance.now() - began).toBe(50);
});
