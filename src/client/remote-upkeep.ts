import { QuipuError } from '../base/errors.ts';
import type { CheckReport, Upkeep } from '../engine/upkeep.ts';
import type { Requests } from './requests.ts';
import { sends } from './send-calls.ts';

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
    backup: sends(requests, 'upkeep.backup'),
  };
}

async function noCollection(): Promise<never> {
  throw new QuipuError('UNSUPPORTED', 'a collection runs where the data is; call maintain.gc', {
    what: 'collection',
    found: 'a client',
  });
}

async function noCopies(): Promise<never> {
  return refuseCopies();
}

function refuseCopies(): never {
  throw new QuipuError(
    'UNSUPPORTED',
    'a store is copied where its data is: stop the server, and give "quipu copy" its folder or database',
    { what: 'copy', found: 'a client' },
  );
}
