import type { TurnId } from '../base/brand.ts';
import type { EraseOptions, TurnEraseReport } from '../context/contexts.ts';
import type { ReadPage } from '../context/turns/loaded-page.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { GcOptions, GcReport } from '../maintain/gc-report.ts';
import type { RetainReport } from '../maintain/retain-contexts.ts';
import type { RetentionPolicy } from '../maintain/retention.ts';
import type { BlobEraseOptions } from '../store/blobs.ts';
import type { StoreElsewhere } from '../store/store-elsewhere.ts';
import type { PackedPage } from '../wire/packed-turns.ts';
import type { RemoteEngine } from './remote-engine.ts';
import { unpackPage } from './unpack-page.ts';

/** The verbs that a store over this engine leaves to the server. */
export function remoteVerbs(engine: RemoteEngine): StoreElsewhere {
  const readPage: ReadPage = async (request, read) => {
    const page = await engine.ask<PackedPage>('contexts.page', [request, read]);
    return unpackPage(page, (hash) => engine.getBlob(hash));
  };
  return {
    readPage,
    async gc({ progress, ...options }: GcOptions = {}): Promise<GcReport> {
      return (await engine.runLong('maintain.gc', [options], progress)) as GcReport;
    },
    async retain(
      policy: RetentionPolicy,
      { dryRun = false }: { readonly dryRun?: boolean } = {},
    ): Promise<RetainReport> {
      return (await engine.runLong('maintain.retain', [policy, dryRun])) as RetainReport;
    },
    async eraseTurn(turn: TurnId, options: EraseOptions): Promise<TurnEraseReport> {
      return (await engine.runLong('contexts.erase', [turn, options])) as TurnEraseReport;
    },
    async eraseBlob(ref: string, options: BlobEraseOptions): Promise<EraseReport> {
      return (await engine.runLong('blobs.erase', [ref, options])) as EraseReport;
    },
  };
}
