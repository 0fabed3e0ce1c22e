import type { Hash } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import type { Records } from '../engine/adoption.ts';
import type { Progress } from '../engine/progress.ts';
import type {
  BackupReport,
  CheckOptions,
  CheckReport,
  Collection,
  LineErasure,
  Upkeep,
} from '../engine/upkeep.ts';

/** Runs long work where the data is. */
export type RunLong = (
  method: string,
  args: readonly unknown[],
  progress?: Progress,
) => Promise<unknown>;

export class RemoteUpkeep implements Upkeep {
  readonly records: Records = {
    turns: noCopies,
    patches: noCopies,
    docs: noCopies,
    sha256Names: refuseCopies,
    erased: refuseCopies,
  };
  readonly #run: RunLong;

  constructor(run: RunLong) {
    this.#run = run;
  }

  async startCollection(): Promise<Collection> {
    throw new QuipuError('UNSUPPORTED', 'a collection runs where the data is; call maintain.gc', {
      what: 'collection',
      found: 'a client',
    });
  }

  async check({ repair, progress }: CheckOptions): Promise<CheckReport> {
    return (await this.#run('upkeep.check', [repair], progress)) as CheckReport;
  }

  async eraseBlob(hash: Hash): Promise<void> {
    await this.#run('upkeep.eraseBlob', [hash]);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    await this.#run('upkeep.eraseLines', [log, erasures]);
  }

  /** `to` is a folder on the server's machine. */
  async backup(to: string, progress?: Progress): Promise<BackupReport> {
    return (await this.#run('upkeep.backup', [to], progress)) as BackupReport;
  }

  async adopt(): Promise<void> {
    refuseCopies();
  }
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
