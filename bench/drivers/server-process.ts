import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../serve.js', import.meta.url));

interface Addresses {
  readonly tcp: string;
  readonly http: string;
}

/** A server of one folder in a process of its own, at ports of its own. It syncs what it acknowledges. */
export class ServerProcess {
  readonly addresses: Addresses;
  readonly #stdin: Writable;
  readonly #ended: Promise<number | null>;

  private constructor(addresses: Addresses, stdin: Writable, ended: Promise<number | null>) {
    this.addresses = addresses;
    this.#stdin = stdin;
    this.#ended = ended;
  }

  static async start(folder: string): Promise<ServerProcess> {
    const child = spawn(process.execPath, [PROGRAM, folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    const told = new Promise<string>((resolve) => {
      createInterface(child.stdout).once('line', resolve);
    });
    const first = await Promise.race([told, ended]);
    if (typeof first === 'string') {
      return new ServerProcess(JSON.parse(first) as Addresses, child.stdin, ended);
    }
    throw new Error(`the server ended with code ${first} before it listened`);
  }

  async stop(): Promise<void> {
    this.#stdin.end();
    const code = await this.#ended;
    if (code !== 0) throw new Error(`the server ended with code ${code}`);
  }
}
