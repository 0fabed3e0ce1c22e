import { parentPort, workerData } from 'node:worker_threads';
import type { DeskCall, DeskReply, Desks } from './desk.ts';
import { ReadDesk } from './read-desk.ts';
import { WriteDesk } from './write-desk.ts';

// The thread of a desk: carries out one call after the other, and answers each.

type Callable = Record<string, (...args: readonly unknown[]) => unknown>;

const { role, path } = workerData as { readonly role: keyof Desks; readonly path: string };
let desk: Callable | undefined;

function run({ id, method, args }: DeskCall): DeskReply {
  try {
    desk ??= (role === 'write' ? new WriteDesk(path) : new ReadDesk(path)) as unknown as Callable;
    return { id, result: desk[method]?.(...args) };
  } catch (error) {
    const { name, message, code } = error as Error & { code?: unknown };
    return { id, error: { name, message, code: typeof code === 'string' ? code : undefined } };
  }
}

parentPort?.on('message', (call: DeskCall) => parentPort?.postMessage(run(call)));
