import { QuipuError } from '../../../base/errors.ts';

/** Only one upkeep task runs at a time: a backup must not see packs go, a check must not see a half-swept store. */
export class UpkeepLock {
  #holder: string | undefined;
  #waiting: (() => void)[] = [];

  /** Takes the lock for `what`. Call the result to release it. */
  take(what: string): () => void {
    const holder = this.#holder;
    if (holder !== undefined) {
      throw new QuipuError('LOCKED', `${what} cannot run beside ${holder}; wait for its end`, {
        what: 'upkeep',
        owner: holder,
      });
    }
    this.#holder = what;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#holder = undefined;
      for (const go of this.#waiting.splice(0)) go();
    };
  }

  /** Resolves when the lock is free. */
  async idle(): Promise<void> {
    if (this.#holder !== undefined) await new Promise<void>((go) => this.#waiting.push(go));
  }
}
