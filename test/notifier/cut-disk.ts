import { dirname } from 'node:path';
import type { SpoolIo } from '../../src/notifier/spool/spool.ts';

interface Node {
  text: string;
  synced: boolean;
}

interface Change {
  readonly folders: readonly string[];
  apply(names: Map<string, Node>): void;
}

/** Stands for a power cut, or for a disk that refuses one operation. */
export class DiskFault extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/**
 * A file system in memory on which a change of names is durable when its folder was synced, and content when its file was. At the
 * operation `failAt`, counted from 0, it throws; with `isCut` it throws from there on.
 */
export class CutDisk implements SpoolIo {
  readonly #names: Map<string, Node>;
  readonly #durable: Map<string, Node>;
  #waiting: Change[] = [];
  readonly #failAt: number;
  readonly #isCut: boolean;
  operations = 0;

  constructor(options: { failAt?: number; isCut?: boolean; names?: Map<string, Node> } = {}) {
    this.#failAt = options.failAt ?? Infinity;
    this.#isCut = options.isCut ?? false;
    this.#durable = new Map(options.names);
    this.#names = new Map(options.names);
  }

  /** A disk with what is left after a cut: of the changes not synced, those that `survives` picks. */
  restart(survives: (index: number) => boolean): CutDisk {
    const names = new Map(this.#durable);
    this.#waiting.filter((_, index) => survives(index)).forEach((change) => change.apply(names));
    const kept = [...names].map(([path, node]): [string, Node] => [
      path,
      { text: node.synced ? node.text : '', synced: true },
    ]);
    return new CutDisk({ names: new Map(kept) });
  }

  paths(): string[] {
    return [...this.#names.keys()].toSorted();
  }

  async writeSynced(path: string, text: string): Promise<void> {
    this.#count();
    if (this.#names.has(path)) throw new DiskFault('EEXIST');
    const node = { text: '', synced: false };
    this.#change([path], (names) => names.set(path, node));
    this.#count();
    Object.assign(node, { text, synced: true });
  }

  async writeSoon(path: string, text: string): Promise<void> {
    this.#count();
    this.#change([path], (names) => names.set(path, { text, synced: false }));
  }

  async link(from: string, to: string): Promise<void> {
    this.#count();
    const node = this.#mustGet(from);
    if (this.#names.has(to)) throw new DiskFault('EEXIST');
    this.#change([to], (names) => names.set(to, node));
  }

  async rename(from: string, to: string): Promise<void> {
    this.#count();
    const node = this.#mustGet(from);
    this.#change([from, to], (names) => {
      names.delete(from);
      names.set(to, node);
    });
  }

  async remove(path: string): Promise<boolean> {
    this.#count();
    if (!this.#names.has(path)) return false;
    this.#change([path], (names) => names.delete(path));
    return true;
  }

  async syncFolder(path: string): Promise<void> {
    this.#count();
    for (const change of this.#waiting) {
      if (change.folders.includes(path)) change.apply(this.#durable);
    }
    this.#waiting = this.#waiting.filter((change) => !change.folders.includes(path));
  }

  async read(path: string): Promise<string | undefined> {
    this.#count();
    return this.#names.get(path)?.text;
  }

  async writtenAt(path: string): Promise<number | undefined> {
    return this.#names.has(path) ? 0 : undefined;
  }

  async list(path: string): Promise<string[]> {
    this.#count();
    return this.paths().flatMap((name) =>
      dirname(name) === path ? [name.slice(path.length + 1)] : [],
    );
  }

  #mustGet(path: string): Node {
    const node = this.#names.get(path);
    if (node === undefined) throw new DiskFault('ENOENT');
    return node;
  }

  #change(paths: readonly string[], apply: (names: Map<string, Node>) => void): void {
    this.#waiting.push({ folders: paths.map((path) => dirname(path)), apply });
    apply(this.#names);
  }

  #count(): void {
    const at = this.operations++;
    if (at === this.#failAt || (this.#isCut && at > this.#failAt)) {
      throw new DiskFault(this.#isCut ? 'POWER' : 'ENOSPC');
    }
  }
}
