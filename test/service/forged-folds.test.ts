import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { serveForAttack } from './attack-rig.ts';
import type { AttackRig } from './attack-rig.ts';

// What is kept of the folds of a chat says which blobs its events name, and a collection goes by it. So a line of it that
// leaves one out must not be taken from a client, and one that is there must not hide events that it is not about.

const BYTES = new TextEncoder().encode('an attachment');
const EMPTY = hashBytes(new Uint8Array());

/** A chat of more than a segment, with an attachment in its first events. */
async function startChat({ served }: AttackRig, { chats } = served.store): Promise<string> {
  const { id } = await chats.create({ title: 'c' });
  const chat = await chats.open(id);
  const message = { type: 'message_completed', payload: { role: 'user', content: 'x' } };
  await chat.append([{ ...message, payload: { ...message.payload, message_id: 'a' } }]);
  await chat.attach(BYTES, { name: 'a.bin', message: 'a' });
  const more = Array.from({ length: 1100 }, (_, n) => ({
    ...message,
    payload: { ...message.payload, message_id: `m${n}` },
  }));
  await chat.append(more);
  return id;
}

function forged(id: string, segment: number, begin = 0): object {
  const folds = { overview: EMPTY, messages: EMPTY, ids: EMPTY, begun: 1, refs: [] };
  const lines = [JSON.stringify({ made_by: '2', begin, segment, ...folds })];
  return { logs: [{ do: 'append', name: `chats-cache/session-${id}.ndjson`, lines }] };
}

async function isKept({ served }: AttackRig): Promise<boolean> {
  await served.store.maintain.gc({ graceMs: 0, all: true });
  return served.engine.hasBlob(hashBytes(BYTES));
}

describe('a forged fold of a chat', () => {
  it.each([0, 1, 7])('of segment %i is not taken from a client', async (segment) => {
    const rig = await serveForAttack();
    const id = await startChat(rig);
    const { engine } = rig.client('tcp');
    const refused = await engine.commit(forged(id, segment)).catch((error: unknown) => error);
    expect(isQuipuError(refused, 'INVALID')).toBe(true);
    expect(await isKept(rig)).toBe(true);
  });

  it('would cost the attachment if it were taken', async () => {
    const rig = await serveForAttack({ careless: (identity) => ({ ...identity, owner: true }) });
    const id = await startChat(rig);
    await rig.client('tcp').engine.commit(forged(id, 0));
    expect(await isKept(rig)).toBe(false);
  });

  it('is told from one that a client made of the events', async () => {
    const rig = await serveForAttack();
    const { store } = rig.client('tcp');
    const id = await startChat(rig, store);
    await (await store.chats.open(id)).messages();
    const log = await rig.served.engine.getLog(`chats-cache/session-${id}.ndjson`);
    expect(log?.lines).toBe(1);
    expect(await isKept(rig)).toBe(true);
  });

  it('hides no events of other segments from a collection', async () => {
    const rig = await serveForAttack();
    const id = await startChat(rig);
    for (const begin of [0, 1]) await rig.served.engine.commit(forged(id, 7, begin));
    expect(await isKept(rig)).toBe(true);
  });
});
