import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';

/** A server in a process of its own, which says where it is in its first line and ends when its input does. */
export class ChildServer {
  readonly told: string;
  readonly #stdin: Writable;
  readonly #ended: Promise<number | null>;

  private constructor(told: string, stdin: Writable, ended: Promise<number | null>) {
    this.told = told;
    this.#stdin = stdin;
    this.#ended = ended;
  }

  static async start(program: string, args: readonly string[]): Promise<ChildServer> {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    const told = new Promise<string>((resolve) => {
      createInterface(child.stdout).once('line', resolve);
    });
    const first = await Promise.race([told, ended]);
    if (typeof first === 'string') return new ChildServer(first, child.stdin, ended);
    throw new Error(`the server ended with code ${first} before it listened`);
  }

  async stop(): Promise<void> {
    this.#stdin.end();
    const code = await this.#ended;
    if (code !== 0) throw new Error(`the server ended with code ${code}`);
  }
}
