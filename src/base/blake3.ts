import { createRequire } from 'node:module';
import type { Blake3Hasher } from '@napi-rs/blake-hash';
import { blake3 } from '@noble/hashes/blake3.js';

/** One hash after another: `reset` begins the next. */
export interface Blake3 {
  reset(): void;
  update(input: Uint8Array | string): void;
  digest(format: 'hex'): string;
}

/** Undefined where the native module is missing: on a platform it was not built for, or in a bundle. */
export function nativeBlake3(): (new () => Blake3) | undefined {
  try {
    const load = createRequire(import.meta.url);
    return (load('@napi-rs/blake-hash') as { Blake3Hasher: typeof Blake3Hasher }).Blake3Hasher;
  } catch {
    return undefined;
  }
}

/** The same in JavaScript. It takes about ten times as long. */
export class PortableBlake3 implements Blake3 {
  #hasher = blake3.create();

  reset(): void {
    this.#hasher = blake3.create();
  }

  update(input: Uint8Array | string): void {
    this.#hasher.update(typeof input === 'string' ? Buffer.from(input) : input);
  }

  digest(): string {
    return Buffer.from(this.#hasher.digest()).toString('hex');
  }
}
