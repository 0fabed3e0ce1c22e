import type { FilesEngine } from '../../src/engine/files/files-engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { DriverOptions } from './driver.ts';
import { StoreHistory } from './store-history.ts';

/** The library itself, opened as `openStore` does. */
export class Quipu extends StoreHistory {
  readonly #engine: FilesEngine;

  private constructor(engine: FilesEngine) {
    super(createStore(engine));
    this.#engine = engine;
  }

  static async open(folder: string, { sync = true }: DriverOptions = {}): Promise<Quipu> {
    return new Quipu(await openFilesEngine(folder, { durability: sync ? 'safe' : 'unsafe' }));
  }

  /** Turn records asked for so far. */
  get turnReads(): number {
    return this.#engine.turnReads;
  }
}
