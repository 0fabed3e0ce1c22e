// Appends to shared contexts with some writers until it is told to stop or killed, and notes in a file of its own
// what it asks for and what it is told. Run: node history-worker.mjs <folder> <log> <name> <contexts as JSON> [writers]
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOutcomeUnknown, openStore } from '../../dist/index.js';

const WRITERS = Number(process.argv[6] ?? 20);
const [folder, logPath, name, contextsText] = process.argv.slice(2);
const contexts = JSON.parse(contextsText);

let isOver = false;
process.on('SIGTERM', () => {
  isOver = true;
});

// Who sees this file may tell this process to end.
const log = openSync(logPath, 'a');
// One clock for all processes of the machine.
const now = () => String(process.hrtime.bigint());
// In the kernel's hands when it returns, so a kill takes back nothing of it.
const note = (entry) => writeSync(log, `${JSON.stringify(entry)}\n`);

async function append(context, payload) {
  note({ kind: 'append', name: payload, context, invokedAt: now() });
  try {
    const turn = await store.contexts.append(BigInt(context), { type: 'note', payload });
    const answeredAt = now();
    const { id, parent, depth } = turn;
    note({ answer: payload, answeredAt, turn: String(id), parent: String(parent), depth });
  } catch (error) {
    const failed = !isOutcomeUnknown(error);
    note({ answer: payload, failed, error: `${error.code}: ${error.message}` });
  }
}

async function look(context) {
  const invokedAt = now();
  const { head = 0n, headDepth } = await store.contexts.get(BigInt(context));
  const depth = head === 0n ? -1 : headDepth;
  note({ kind: 'head', context, turn: String(head), depth, invokedAt, answeredAt: now() });
}

async function write(writer) {
  for (let n = 0; !isOver; n += 1) {
    const context = contexts[(writer + n) % contexts.length];
    await append(context, `${name}-${writer}-${n}`);
    if (n % 4 === 0) await look(context);
    await sleep(40 + Math.random() * 120);
  }
}

const store = await openStore(folder, { create: false });
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
await store.close();
