import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { PATIENCE } from '../patience.ts';

/** A bundle with the roles `a` and `b`, one after the other. */
export const one = (roles: string, more: string = ''): string => `
export const descriptor = { name: 'one', roles: { a: {}, b: {} } };
export const roles = { ${roles} };
export async function* run(context) { yield 'a'; const b = yield { role: 'b', prompt: 'and b' }; return b.content; }
${more}`;

/** Where roles wait until a test lets them go on. */
export class Gate {
  readonly #folder = mkdtempSync(join(tmpdir(), 'quipu-gate-'));
  readonly #reached = join(this.#folder, 'reached');
  readonly #opened = join(this.#folder, 'opened');

  constructor() {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** The source of a role that says this when it may go on. */
  role(content: string): string {
    const [reached, opened] = [this.#reached, this.#opened].map((path) => JSON.stringify(path));
    return `async () => {
      const { existsSync, writeFileSync } = await import('node:fs');
      writeFileSync(${reached}, '');
      while (!existsSync(${opened})) await new Promise((done) => setTimeout(done, 5));
      return ${JSON.stringify(content)};
    }`;
  }

  /** Resolves when a role waits here. */
  async reached(): Promise<void> {
    await vi.waitFor(() => expect(existsSync(this.#reached)).toBe(true), PATIENCE);
  }

  open(): void {
    writeFileSync(this.#opened, '');
  }
}
