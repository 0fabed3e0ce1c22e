import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { Call } from './traced-process.ts';

// A file system that keeps what POSIX makes it keep, and nothing else: of a file what it held at its last sync, of a
// folder the names it had at its last sync. Whatever was not synced is gone after a crash, a file without its name, too.

interface File {
  readonly kind: 'file';
  bytes: Buffer;
  synced: Buffer;
}

interface Folder {
  readonly kind: 'folder';
  readonly names: Map<string, Node>;
  synced: ReadonlyMap<string, Node>;
}

type Node = File | Folder;

interface Opened {
  readonly node: Node;
  readonly append: boolean;
  at: number;
}

export class StrictDisk {
  readonly #root: string;
  readonly #tree: Folder = newFolder();
  readonly #open = new Map<number, Opened>();

  /** `root`: what lies in here is on this disk, and it was empty to begin with. */
  constructor(root: string) {
    this.#root = resolve(root);
  }

  /** Does what a call did. True when what would survive a crash may be different now. */
  apply({ name, args, result }: Call): boolean {
    const [first, second, third, fourth] = args;
    switch (name) {
      case 'open':
        return this.#opened(result, text(first), String(second));
      case 'openat':
        return this.#opened(result, text(second), String(third));
      case 'close':
        this.#open.delete(Number(first));
        return false;
      case 'mkdir':
        return this.#put(text(first), newFolder());
      case 'rename':
        return this.#move(text(first), text(second), true);
      case 'link':
        return this.#move(text(first), text(second), false);
      case 'unlink':
      case 'rmdir':
        return this.#put(text(first), undefined);
      case 'unlinkat':
        return this.#put(text(second), undefined);
      case 'write':
        return this.#write(Number(first), bytes(second), undefined);
      case 'pwrite64':
        return this.#write(Number(first), bytes(second), Number(fourth));
      case 'ftruncate':
        return this.#cut(Number(first), Number(second));
      case 'fsync':
      case 'fdatasync':
        return this.#sync(Number(first));
      case 'fcntl':
        if (String(second).startsWith('F_DUPFD') && this.#open.has(Number(first)))
          throw new Error('a file of this disk was duplicated, which this disk does not know');
        return false;
      default:
        // Also what it does not know must not pass by unseen.
        if (args.some((arg) => Buffer.isBuffer(arg) && this.#holds(text(arg))))
          throw new Error(`this disk does not know ${name}`);
        return false;
    }
  }

  /** What would be left, in an empty folder. */
  restore(folder: string): void {
    const write = (node: Node, path: string): void => {
      if (node.kind === 'file') return writeFileSync(path, node.synced);
      mkdirSync(path, { recursive: true });
      for (const [name, inner] of node.synced) write(inner, join(path, name));
    };
    write(this.#tree, folder);
  }

  #holds(path: string): boolean {
    const inner = relative(this.#root, path);
    return path.startsWith('/') && inner !== '' && !inner.startsWith('..');
  }

  #find(path: string): Node | undefined {
    const parts = relative(this.#root, path).split('/');
    let node: Node | undefined = this.#tree;
    for (const part of parts) {
      if (part === '') continue;
      node = node?.kind === 'folder' ? node.names.get(part) : undefined;
    }
    return node;
  }

  #put(path: string, node: Node | undefined): boolean {
    if (!this.#holds(path)) return false;
    const parent = this.#find(dirname(path));
    if (parent?.kind !== 'folder') throw new Error(`${path} has no folder`);
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (node === undefined) parent.names.delete(name);
    else parent.names.set(name, node);
    return false;
  }

  #move(from: string, to: string, goes: boolean): boolean {
    if (!this.#holds(from)) return false;
    this.#put(to, this.#find(from));
    if (goes) this.#put(from, undefined);
    return false;
  }

  #opened(number: number, path: string, flags: string): boolean {
    this.#open.delete(number);
    if (!this.#holds(path) && resolve(path) !== this.#root) return false;
    let node = this.#find(path);
    if (node === undefined) {
      node = { kind: 'file', bytes: Buffer.alloc(0), synced: Buffer.alloc(0) };
      this.#put(path, node);
    }
    if (flags.includes('O_TRUNC') && node.kind === 'file') node.bytes = Buffer.alloc(0);
    this.#open.set(number, { node, append: flags.includes('O_APPEND'), at: 0 });
    return false;
  }

  #write(number: number, data: Buffer, at: number | undefined): boolean {
    const opened = this.#open.get(number);
    if (opened?.node.kind !== 'file') return false;
    const { node, append } = opened;
    const start = at ?? (append ? node.bytes.length : opened.at);
    const grown = Buffer.alloc(Math.max(node.bytes.length, start + data.length));
    node.bytes.copy(grown);
    data.copy(grown, start);
    node.bytes = grown;
    if (at === undefined) opened.at = start + data.length;
    return false;
  }

  #cut(number: number, size: number): boolean {
    const node = this.#open.get(number)?.node;
    if (node?.kind !== 'file') return false;
    const cut = Buffer.alloc(size);
    node.bytes.copy(cut);
    node.bytes = cut;
    return false;
  }

  #sync(number: number): boolean {
    const node = this.#open.get(number)?.node;
    if (node === undefined) return false;
    if (node.kind === 'file') node.synced = node.bytes;
    else node.synced = new Map(node.names);
    return true;
  }
}

function newFolder(): Folder {
  return { kind: 'folder', names: new Map(), synced: new Map() };
}

function text(arg: Buffer | string | undefined): string {
  return Buffer.isBuffer(arg) ? arg.toString('utf8') : (arg ?? '');
}

function bytes(arg: Buffer | string | undefined): Buffer {
  return Buffer.isBuffer(arg) ? arg : Buffer.alloc(0);
}
