import { unsupported } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { Progress } from '../engine/progress.ts';
import type { BackupReport, CheckReport, Upkeep } from '../engine/upkeep.ts';
import { ENGINE_METHODS, rowOf } from '../wire/calls.ts';
import type { CallName, EngineMethod } from '../wire/calls.ts';
import type { Requests } from './requests.ts';

/** A function that sends its arguments as a call. Work takes a function for its progress after them. */
function sends<Method>(requests: Requests, call: CallName): Method {
  const { kind, args } = rowOf(call);
  const send = (...given: readonly unknown[]): Promise<unknown> => requests.call(call, given);
  const work = (...given: readonly unknown[]): Promise<unknown> =>
    requests.runLong(call, given.slice(0, args.length), given[args.length] as Progress);
  return (kind === 'work' ? work : send) as Method;
}

/** The methods of the engine that take more than one call, or something beside it. `RemoteEngine` has them itself. */
type OwnMethod =
  | 'commit'
  | 'readBlob'
  | 'putBlob'
  | 'listBlobs'
  | 'walkBack'
  | 'ancestorAt'
  | 'getOpenTurn'
  | 'listContexts'
  | 'getPatches'
  | 'getFsRoots'
  | 'getMany'
  | 'readLog'
  | 'salvageLog'
  | 'listLogs'
  | 'listDocs'
  | 'subscribe';

class Sent {
  constructor(requests: Requests) {
    const methods = this as Record<string, unknown>;
    for (const method of ENGINE_METHODS) {
      if (!(method in methods)) methods[method] = sends(requests, `engine.${method}`);
    }
  }
}

/** Has every other method of the engine, each as the call of its name. */
export const SentMethods: new (
  requests: Requests,
) => Pick<Engine, Exclude<EngineMethod, OwnMethod>> = Sent as never;

/** The maintenance of a store, done where the data is. */
export function remoteUpkeep(requests: Requests): Upkeep {
  return {
    records: {
      turns: noCopies,
      patches: noCopies,
      docs: noCopies,
      sha256Names: refuseCopies,
      erased: refuseCopies,
    },
    adopt: noCopies,
    startCollection: noCollection,
    check: async ({ repair, progress }) =>
      (await requests.runLong('upkeep.check', [repair], progress)) as CheckReport,
    eraseBlob: sends(requests, 'upkeep.eraseBlob'),
    eraseLines: sends(requests, 'upkeep.eraseLines'),
    // `to` is a folder on the server's machine.
    async backup(to, progress, also) {
      const report = (await requests.runLong('upkeep.backup', [to], progress)) as BackupReport;
      await also?.();
      return report;
    },
  };
}

async function noCollection(): Promise<never> {
  throw unsupported(
    'collection',
    'a client',
    'a collection runs where the data is; call maintain.gc',
  );
}

async function noCopies(): Promise<never> {
  return refuseCopies();
}

function refuseCopies(): never {
  throw unsupported(
    'copy',
    'a client',
    'a store is copied where its data is: stop the server, and give "quipu copy" its folder or database',
  );
}
