import type { CallHandler, CallTable } from './call-handler.ts';
import type { Served } from './served.ts';
import type { NamedHandler } from './answer.ts';
import { blobCalls } from './blob-calls.ts';
import { checkBatch } from './check-batch.ts';
import { maintainCalls } from './maintain-calls.ts';
import { pageCall } from './page-call.ts';
import { queueCalls } from './queue-calls.ts';
import { readCalls } from './read-calls.ts';
import { subscribeCall } from './subscribe-call.ts';

/** Every verb that a client needs to be a store, by the name it travels under. */
export function createCalls(served: Served): CallTable {
  const { engine } = served;
  const commit: NamedHandler<CallHandler> = [
    'engine.commit',
    {
      kind: 'answer',
      needs: 'write',
      run: async (args, { identity }) => engine.commit(await checkBatch(engine, args, identity)),
    },
  ];
  return new Map([
    commit,
    ...readCalls(engine),
    ...blobCalls(engine),
    pageCall(engine),
    subscribeCall(engine),
    ...maintainCalls(served),
    ...queueCalls(served),
  ]);
}
