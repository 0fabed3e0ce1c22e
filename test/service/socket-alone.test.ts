import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { encodeGetHead } from '../../src/wire/head.ts';
import { ALONE, MessageType } from '../../src/wire/message-type.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import { createContext } from './socket-verbs.ts';

/** Above what makes a connection the only one. */
const LONG_MS = 40;

it(
  'tells a client of Quipu that it is alone, and nobody else',
  undisturbed(5, async () => {
    await using server = await startSocketServer();
    const quipu = await SocketPeer.openQuipu(server.port);
    const context = encodeGetHead(await createContext(quipu));
    const flagsOf = async (peer: SocketPeer): Promise<number> =>
      (await peer.ask(MessageType.GET_HEAD, context)).flags;

    await sleep(LONG_MS);
    expect(await flagsOf(quipu)).toBe(ALONE);

    const other = await SocketPeer.open(server.port);
    expect(await flagsOf(other)).toBe(0);
    await sleep(LONG_MS);
    expect(await flagsOf(other)).toBe(0);
    expect(await flagsOf(quipu)).toBe(0);
    await sleep(LONG_MS);
    expect(await flagsOf(quipu)).toBe(ALONE);
    quipu.close();
    other.close();
  }),
);
